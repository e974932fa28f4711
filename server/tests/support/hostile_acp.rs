//! An ACP agent that misbehaves on command: a test starts its own binary again as this process.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs::OpenOptions;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::Path;
use std::process::{Command, Stdio, exit};

use serde_json::{Value, json};

/// Set to the mode in the agent's process.
pub(crate) const MODE_VARIABLE: &str = "RUNWARDEN_TEST_ACP_MODE";

/// Set to the folder where the agent leaves the ids of its processes and what it was told.
pub(crate) const FOLDER_VARIABLE: &str = "RUNWARDEN_TEST_ACP_FOLDER";

/// Where the ids of processes are, one per line.
const PROCESSES: &str = "processes";

/// Where the prompts are that the agent got, and what it was told while it worked.
const TOLD: &str = "told";

/// Becomes the agent if this process was started as one; never returns then.
pub(crate) fn be_the_agent_if_asked() {
    let Ok(mode) = std::env::var(MODE_VARIABLE) else { return };
    let folder = std::env::var(FOLDER_VARIABLE).unwrap();
    // Ends the line that the test harness began.
    say("");
    note(&folder, PROCESSES, &std::process::id().to_string());
    // A killed server sees to the helpers of no agent.
    if mode != "light" && !mode.contains("load") {
        start_helper(&mode);
    }
    let hostile = Hostile { mode, folder };
    hostile.serve();
    if hostile.mode == "hears_no_end" {
        wait_for_ever();
    }
    note(&hostile.folder, TOLD, "end of input");
    exit(0)
}

/// A process of the agent's own, which outlives it unless somebody ends it.
#[expect(clippy::zombie_processes, reason = "the agent ends before it")]
fn start_helper(mode: &str) {
    let mut helper = Command::new("sleep");
    helper.arg("600").stdin(Stdio::null()).stderr(Stdio::null());
    if mode != "dies_and_leaves_a_child" {
        helper.stdout(Stdio::null());
    }
    helper.spawn().unwrap();
}

/// The leaders of the process groups that were started with this folder.
pub(crate) fn processes(folder: &Path) -> Vec<u32> {
    lines(&folder.join(PROCESSES)).iter().map(|id| id.parse().unwrap()).collect()
}

/// The prompts an agent of this folder got, and what it was told while it worked.
pub(crate) fn told(folder: &Path) -> String {
    lines(&folder.join(TOLD)).join("\n")
}

/// Processes of these groups that run; what has ended and is only not collected does not count.
pub(crate) fn living(groups: &[u32]) -> Vec<String> {
    let mut living = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = fields.split(' ').collect();
        // A process that is just ending has no group: -1.
        let Ok(group) = fields[2].parse() else { continue };
        if groups.contains(&group) && fields[0] != "Z" {
            living.push(stat);
        }
    }
    living
}

struct Hostile {
    /// What it does, and after a colon how often.
    mode: String,
    folder: String,
}

impl Hostile {
    fn serve(&self) {
        if self.mode == "dies_at_once" {
            exit(1);
        }
        while let Some(message) = hear() {
            let id = &message["id"];
            match message["method"].as_str() {
                Some("initialize") => self.greet(id),
                Some("session/new") => self.open(id),
                Some("session/load" | "session/resume") => self.load(id, &message),
                Some(method) if method.starts_with("session/set_") => {
                    note(&self.folder, TOLD, &message.to_string());
                    answer(id, &json!({}));
                }
                Some("session/prompt") => {
                    note(&self.folder, TOLD, &message["params"]["prompt"].to_string());
                    self.prompted(id, &message["params"]["prompt"]);
                }
                _ => {
                    note(&self.folder, TOLD, &message.to_string());
                    if !id.is_null() && self.mode != "knows_no_errors" {
                        fail(id, -32_601, "unknown");
                    }
                }
            }
        }
    }

    fn greet(&self, id: &Value) {
        let able = |capabilities: Value| {
            answer(id, &json!({"protocolVersion": 1, "agentCapabilities": capabilities}));
        };
        match self.mode.as_str() {
            "says_nothing" => wait_for_ever(),
            "resumes" => able(json!({"sessionCapabilities": {"resume": {}}})),
            "boasts_resume" => {
                able(json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}));
            }
            "loads" | "refuses_load" | "dies_in_load" | "answers_no_load" => {
                able(json!({"loadSession": true}));
            }
            "other_version" => answer(id, &json!({"protocolVersion": 7})),
            _ => answer(id, &json!({"protocolVersion": 1, "agentCapabilities": {}})),
        }
    }

    fn open(&self, id: &Value) {
        note(&self.folder, TOLD, "session/new");
        match self.mode.as_str() {
            "wants_login" => fail(id, -32_000, "log in"),
            "dies_in_session_new" => exit(0),
            "says_nothing_in_session_new" => wait_for_ever(),
            "names_no_session" => answer(id, &json!({})),
            "chooses" => answer(
                id,
                &json!({"sessionId": "s-1",
                    "modes": {"currentModeId": "code", "availableModes": [
                        {"id": "code", "name": "Code"}, {"id": "plan", "name": "Plan"}]},
                    "configOptions": [{"id": "the-model", "name": "Model", "category": "model",
                        "type": "select", "currentValue": "small", "options": [
                            {"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]}],
                }),
            ),
            _ => answer(id, &json!({"sessionId": "s-1"})),
        }
    }

    fn load(&self, id: &Value, message: &Value) {
        note(&self.folder, TOLD, &message.to_string());
        match self.mode.as_str() {
            "refuses_load" => fail(id, -32_002, "no such session"),
            "boasts_resume" if message["method"] == "session/resume" => {
                fail(id, -32_601, "unknown");
            }
            "dies_in_load" => exit(0),
            "answers_no_load" => wait_for_ever(),
            "resumes" => answer(id, &json!({})),
            _ => {
                chunk("user_message_chunk", "said before");
                text("answered before");
                answer(id, &Value::Null);
                text("answered before, again");
            }
        }
    }

    fn prompted(&self, id: &Value, prompt: &Value) {
        match self.mode.split(':').next().unwrap() {
            "happy" => happy(id),
            "light"
                if prompt.as_array().and_then(|blocks| blocks.last()).unwrap()["text"]
                    == "work" =>
            {
                self.work_until_cancelled(id);
            }
            "dies_silently" => exit(1),
            "floods_after_cancel" => {
                text("working");
                note(&self.folder, TOLD, &hear().unwrap().to_string());
                loop {
                    text("late");
                }
            }
            "echo" | "light" | "hears_no_end" | "knows_no_errors" | "loads" | "resumes"
            | "boasts_resume" | "refuses_load" | "dies_in_load" | "answers_no_load" => {
                end_with(id, &prompt.to_string())
            }
            "chooses" => {
                update(&json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}));
                end_with(id, "chosen");
            }
            "dies_after" => {
                end_with(id, &prompt.to_string());
                exit(0)
            }
            "dies_in_permission" => {
                send_permission();
                text("asked");
                exit(1)
            }
            "cleans_up_slowly" => self.clean_up_slowly(id),
            mode @ ("dies_once" | "dies_midway_once") => {
                let mark = Path::new(&self.folder).join("died");
                if !mark.exists() {
                    if mode == "dies_midway_once" {
                        text("working");
                    }
                    std::fs::write(mark, "").unwrap();
                    exit(1);
                }
                end_with(id, &prompt.to_string());
            }
            "obeys" | "wrong_reason" | "counts_late" => self.work_until_cancelled(id),
            "ignores_cancel" => {
                text("working");
                wait_for_ever();
            }
            "asks_then_obeys" => self.ask_until_cancelled(id),
            "asks_much" => self.ask_much(id),
            "wants_files" => {
                send(&json!({"jsonrpc": "2.0", "id": "f", "method": "fs/read_text_file",
                    "params": {"path": "/etc/passwd"}}));
                end_with(id, &hear().unwrap()["error"]["code"].to_string());
            }
            "garbage" => {
                (0..self.count()).for_each(|_| say("garbage"));
                end_with(id, "after it");
            }
            mode => misbehave(mode, id),
        }
    }

    fn work_until_cancelled(&self, id: &Value) {
        text("working");
        let cancel = hear().unwrap();
        note(&self.folder, TOLD, &cancel.to_string());
        text("late");
        if self.mode == "counts_late" {
            let usage = json!({"inputTokens": 5, "outputTokens": 3, "totalTokens": 8});
            answer(id, &json!({"stopReason": "cancelled", "usage": usage}));
            return;
        }
        let reason = if self.mode == "obeys" { "cancelled" } else { "end_turn" };
        answer(id, &json!({"stopReason": reason}));
        answer(id, &json!({"stopReason": "refusal"}));
        text("later");
    }

    /// After a cancelled prompt it goes on talking before it looks at what it is told next.
    fn clean_up_slowly(&self, id: &Value) {
        let mark = Path::new(&self.folder).join("cancelled");
        if mark.exists() {
            return end_with(id, "clean");
        }
        std::fs::write(mark, "").unwrap();
        text("working");
        note(&self.folder, TOLD, &hear().unwrap().to_string());
        answer(id, &json!({"stopReason": "cancelled"}));
        for _ in 0..50 {
            text("cleaning up");
            std::thread::sleep(std::time::Duration::from_millis(4));
        }
    }

    fn ask_much(&self, id: &Value) {
        (0..self.count()).for_each(|_| send_permission());
        text("asked");
        for _ in 0..self.count() {
            note(&self.folder, TOLD, &hear().unwrap().to_string());
        }
        end_with(id, "answered");
    }

    fn count(&self) -> usize {
        self.mode.split_once(':').unwrap().1.parse().unwrap()
    }

    fn ask_until_cancelled(&self, id: &Value) {
        send_permission();
        let told = [hear().unwrap(), hear().unwrap()];
        told.iter().for_each(|told| note(&self.folder, TOLD, &told.to_string()));
        answer(id, &json!({"stopReason": "cancelled"}));
    }
}

fn happy(id: &Value) {
    update(&json!({"sessionUpdate": "available_commands_update", "availableCommands": []}));
    update(&json!({"sessionUpdate": "plan", "entries": [
        {"content": "look", "priority": "high", "status": "in_progress"},
        {"content": "write", "priority": "low", "status": "pending"},
    ]}));
    chunk("agent_thought_chunk", "hm");
    text("I will ");
    text("look.");
    update(&json!({"sessionUpdate": "tool_call", "toolCallId": "t-1", "title": "Edits a file",
        "kind": "edit", "status": "pending", "rawInput": {"path": "a"}}));
    send_permission();
    let answered = hear().unwrap();
    update(
        &json!({"sessionUpdate": "tool_call_update", "toolCallId": "t-1", "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": "done"}}]}),
    );
    text(answered["result"]["outcome"]["optionId"].as_str().unwrap());
    let usage = json!({"inputTokens": 5, "outputTokens": 3, "totalTokens": 8});
    answer(id, &json!({"stopReason": "end_turn", "usage": usage}));
}

fn misbehave(mode: &str, id: &Value) {
    text("working");
    match mode {
        "dies_in_prompt" | "dies_and_leaves_a_child" => exit(1),
        "answers_an_error" => fail(id, -32_603, "oh"),
        "unknown_reason" => answer(id, &json!({"stopReason": "banana"})),
        "no_reason" => answer(id, &json!({})),
        "cancelled_unasked" => answer(id, &json!({"stopReason": "cancelled"})),
        "refuses" => answer(id, &json!({"stopReason": "refusal"})),
        "out_of_tokens" => answer(id, &json!({"stopReason": "max_tokens"})),
        "two_reasons" => {
            answer(id, &json!({"stopReason": "end_turn"}));
            answer(id, &json!({"stopReason": "refusal"}));
        }
        "some_garbage" => {
            for garbage in ["Loading…", "{", "[1, 2]", "\u{0}\u{1b}[2J", "{\"id\": 1}", "null"] {
                say(garbage);
            }
            stdout().write_all(b"\xff\xfe\n").unwrap();
            answer(&json!(99), &json!({"stopReason": "refusal"}));
            answer(id, &json!({"stopReason": "end_turn"}));
        }
        "only_garbage" => loop {
            say("garbage");
        },
        "huge_line" => loop {
            stdout().write_all(&[b'x'; 65_536]).unwrap();
        },
        "noisy_stderr" => {
            (0..2_000).for_each(|_| eprintln!("{}", "e".repeat(4_000)));
            answer(id, &json!({"stopReason": "end_turn"}));
        }
        other => panic!("no such mode: {other}"),
    }
}

fn send_permission() {
    send(
        &json!({"jsonrpc": "2.0", "id": "p-1", "method": "session/request_permission", "params": {
            "sessionId": "s-1", "toolCall": {"toolCallId": "t-1", "title": "Edit a file?"},
            "options": [
                {"optionId": "yes-1", "name": "Allow", "kind": "allow_once"},
                {"optionId": "no-1", "name": "Reject", "kind": "reject_once"},
            ],
        }}),
    );
}

fn hear() -> Option<Value> {
    let mut line = String::new();
    let bytes = stdin().lock().read_line(&mut line).unwrap();
    (bytes > 0).then(|| serde_json::from_str(&line).unwrap())
}

fn end_with(id: &Value, said: &str) {
    text(said);
    answer(id, &json!({"stopReason": "end_turn"}));
}

fn text(text: &str) {
    chunk("agent_message_chunk", text);
}

fn chunk(kind: &str, text: &str) {
    update(&json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}));
}

fn update(update: &Value) {
    send(&json!({"jsonrpc": "2.0", "method": "session/update",
        "params": {"sessionId": "s-1", "update": update}}));
}

fn answer(id: &Value, result: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn fail(id: &Value, code: i64, message: &str) {
    send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
}

fn send(message: &Value) {
    say(&message.to_string());
}

/// Whoever is not heard any more has no reason to live.
fn say(line: &str) {
    let mut stdout = stdout().lock();
    if writeln!(stdout, "{line}").and_then(|()| stdout.flush()).is_err() {
        exit(2);
    }
}

fn note(folder: &str, file: &str, line: &str) {
    let path = Path::new(folder).join(file);
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    // One write, so that the lines of processes that write at once stay apart.
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn wait_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // A line that is being written is not there yet.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(str::to_owned).collect()
}
