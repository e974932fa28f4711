//! What the demo agent does for a prompt, as data.

use runwarden_protocol::journal::row::ItemKind;
use runwarden_runtime::ports::agent::{ContextMessage, ContextRole, QuestionDraft};
use serde_json::{Value, json};

use super::{show, text};

/// Words that `/slow` streams: about 30 s at the default pace.
const SLOW_WORDS: usize = 1_000;

/// Bytes of text that `/flood` sends.
const FLOOD_BYTES: usize = 180 * 1_024;

/// Bytes of each text event of `/flood`.
const FLOOD_PIECE_BYTES: usize = 64;

/// Text events of `/flood` after which its tool item changes.
const FLOOD_PIECES_PER_UPDATE: usize = 64;

/// Everything an invocation does.
#[derive(Debug)]
pub(super) struct Script {
    /// In this order.
    pub(super) acts: Vec<Act>,
    /// Whether an interrupt ends it; otherwise only a kill does.
    pub(super) obeys: bool,
    /// Words of the context, the demo's measure of input.
    pub(super) words_in: u64,
}

/// One thing to do.
#[derive(Debug, PartialEq)]
pub(super) enum Act {
    /// Streams a text word by word at the agent's pace.
    Stream { item: u32, kind: ItemKind, text: String },
    /// Sends a text as one event at once.
    Burst { item: u32, kind: ItemKind, text: String },
    /// Sets the value of an item.
    Show { item: u32, kind: ItemKind, value: Value },
    /// Waits as long as this many words take.
    Pause { words: u32 },
    /// Asks all of these at once, and waits for every reply.
    Ask(Vec<QuestionDraft>),
    /// Streams a text about the replies.
    UseReply { item: u32 },
    /// Ends the tool call that the permission was asked for.
    UsePermission { item: u32 },
    /// Says a text word by word, and repeats what a steer says.
    Steady { item: u32, text: String },
    /// Counts aloud, and does what a steer says.
    Count { item: u32 },
    /// Fails.
    Fail,
    /// Does nothing, for ever.
    Hang,
}

impl Script {
    /// The script for a conversation whose last user message is the prompt.
    pub(super) fn for_context(context: &[ContextMessage]) -> Self {
        let users: Vec<&str> = context
            .iter()
            .filter(|message| message.role == ContextRole::User)
            .map(|message| message.text.as_str())
            .collect();
        let (prompt, earlier) =
            users.split_last().map_or(("", &[][..]), |(prompt, earlier)| (prompt.trim(), earlier));
        let words_in: usize =
            context.iter().map(|message| message.text.split_whitespace().count()).sum();
        let command = prompt.split_whitespace().next().filter(|word| word.starts_with('/'));
        let acts = match command {
            None => plain(prompt, earlier),
            Some("/help") => help(),
            Some("/slow") => slow(),
            Some("/tool") => tool(),
            Some("/plan") => show::plan(),
            Some("/diff") => show::diff(),
            Some("/long") => show::long(),
            Some("/permit") => show::permit(),
            Some("/ask") => ask(),
            Some("/ask2") => show::ask_twice(),
            Some("/count") => vec![Act::Count { item: 1 }],
            Some("/fail") => fail(),
            Some("/wedge") => wedge(),
            Some("/flood") => flood(),
            Some(unknown) => unknown_command(unknown),
        };
        Self { acts, obeys: command != Some("/wedge"), words_in: words_in as u64 }
    }
}

pub(super) fn say(item: u32, text: impl Into<String>) -> Act {
    Act::Stream { item, kind: ItemKind::Text, text: text.into() }
}

pub(super) fn think(item: u32, text: &str) -> Act {
    Act::Stream { item, kind: ItemKind::Thinking, text: text.into() }
}

fn plain(prompt: &str, earlier: &[&str]) -> Vec<Act> {
    vec![think(1, &text::thought(prompt)), say(2, text::answer(prompt, earlier))]
}

fn help() -> Vec<Act> {
    vec![say(1, text::HELP)]
}

fn unknown_command(command: &str) -> Vec<Act> {
    vec![say(1, text::unknown_command(command))]
}

fn slow() -> Vec<Act> {
    vec![Act::Steady { item: 1, text: text::steady(SLOW_WORDS) }]
}

fn tool() -> Vec<Act> {
    let search = json!({"query": "release notes", "limit": 3});
    let found = json!({"files": ["CHANGELOG.md", "docs/releases.md"]});
    let read = json!({"path": "CHANGELOG.md"});
    let content = json!({"text": "0.1.0: the first release", "lines": 1});
    let mut acts = vec![think(1, "I need to look this up before I can answer. ")];
    acts.extend(call(2, "search_files", &search, &found, "2 files found"));
    acts.push(Act::Stream {
        item: 3,
        kind: ItemKind::Interim,
        text: "Found two candidates, reading the first one. ".into(),
    });
    acts.extend(call(4, "read_file", &read, &content, "1 line read"));
    acts.push(say(5, text::TOOL_ANSWER));
    acts
}

/// The acts of a tool call that takes a while and succeeds.
pub(super) fn call(
    item: u32,
    name: &str,
    input: &Value,
    output: &Value,
    summary: &str,
) -> [Act; 3] {
    let kind = ItemKind::Tool;
    let running = json!({"name": name, "status": "running", "input": input});
    let done = json!({
        "name": name, "status": "done", "input": input, "output": output, "summary": summary,
    });
    [
        Act::Show { item, kind, value: running },
        Act::Pause { words: 20 },
        Act::Show { item, kind, value: done },
    ]
}

fn ask() -> Vec<Act> {
    let question = QuestionDraft {
        approval: false,
        prompt: "Which colour should the report have?".into(),
        options: vec!["Red".into(), "Green".into(), "Blue".into()],
        multi: false,
        allow_custom: true,
    };
    vec![
        say(1, "Before I go on I need to know one thing. "),
        Act::Ask(vec![question]),
        Act::UseReply { item: 2 },
    ]
}

fn fail() -> Vec<Act> {
    vec![say(1, "This answer will not be finished, because "), Act::Fail]
}

fn wedge() -> Vec<Act> {
    vec![say(1, "I stop listening now. Press Stop: I am ended by force. "), Act::Hang]
}

/// Interleaves three text items and a tool item, so that neighbouring events seldom merge.
fn flood() -> Vec<Act> {
    let kinds = [ItemKind::Thinking, ItemKind::Text, ItemKind::Text, ItemKind::Interim];
    let pieces = FLOOD_BYTES / FLOOD_PIECE_BYTES;
    let mut acts = Vec::with_capacity(pieces + pieces / FLOOD_PIECES_PER_UPDATE);
    for number in 0..pieces {
        if number % FLOOD_PIECES_PER_UPDATE == 0 {
            acts.push(flood_progress(number, pieces));
        }
        let kind = kinds[number % kinds.len()];
        let item = match kind {
            ItemKind::Thinking => 2,
            ItemKind::Interim => 4,
            ItemKind::Text | ItemKind::Tool | ItemKind::Compression | ItemKind::Notice => 3,
        };
        acts.push(Act::Burst { item, kind, text: text::piece(number, FLOOD_PIECE_BYTES) });
    }
    acts.push(flood_progress(pieces, pieces));
    acts
}

fn flood_progress(sent: usize, pieces: usize) -> Act {
    let status = if sent == pieces { "done" } else { "running" };
    let value = json!({
        "name": "flood",
        "status": status,
        "input": {"pieces": pieces},
        "summary": format!("{sent} of {pieces} pieces sent"),
    });
    Act::Show { item: 1, kind: ItemKind::Tool, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ContextMessage {
        ContextMessage { role: ContextRole::User, text: text.into() }
    }

    #[test]
    fn slow_streams_its_words_exactly() {
        let script = Script::for_context(&[user(" /slow ")]);
        let [Act::Steady { text, .. }] = &script.acts[..] else { panic!("{:?}", script.acts) };
        assert_eq!(text.split_inclusive(' ').count(), SLOW_WORDS);
    }

    #[test]
    fn flood_sends_its_bytes_in_small_mixed_pieces() {
        let script = Script::for_context(&[user("/flood")]);
        let mut bytes = 0;
        let mut updates = 0;
        for act in &script.acts {
            match act {
                Act::Burst { text, .. } => {
                    assert_eq!(text.len(), FLOOD_PIECE_BYTES);
                    bytes += text.len();
                }
                Act::Show { .. } => updates += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(bytes, FLOOD_BYTES);
        assert!(updates > 10, "{updates}");
    }

    #[test]
    fn only_the_wedge_ignores_an_interrupt() {
        assert!(!Script::for_context(&[user("/wedge")]).obeys);
        assert!(Script::for_context(&[user("please /wedge")]).obeys);
        assert!(Script::for_context(&[]).obeys);
    }
}
