/** What the agent of the mock does for each prompt, like the demo agent of the server. */

const ANSWER = `You said: **{text}**

Here is a short answer with a list and some code:

1. The run was admitted once and its prompt is stored.
2. Every word you see is in the run's journal first.
3. Press *Stop* at any time; what was shown stays.

\`\`\`rust
fn main() {
    println!("one session, for real");
}
\`\`\`

| Part | Kept |
|---|---:|
| prompt | 1 |
| answer | 1 |

Unicode passes unharmed: naïve café, 你好, 👩🏽‍🚀. Markup is shown as text: <b>not bold</b>.`;

/** Plays the prompt of a run. */
export async function play(store, run, text) {
  const pause = (ms) => new Promise((resolve) => store.later(ms, resolve));
  const say = async (item, kind, whole, ms) => {
    for (const part of whole.match(/\s*\S+/g) ?? []) {
      if (!store.row(run, "stream_text", { item_id: item, item_kind: kind, text: part })) return false;
      await pause(ms);
    }
    return true;
  };
  const show = (item, kind, value) => store.row(run, "stream_update", { item_id: item, item_kind: kind, kind, value });
  const tool = (value, item = "tool-1") => show(item, "tool", value);
  await say("think-1", "thinking", "The person wrote a prompt. I consider what it asks for and how to answer it in a short and useful way.", 12);
  if (text.startsWith("/think")) {
    await say("think-1", "thinking", " One thought leads to the next.".repeat(200), 40);
    return;
  }
  if (text.startsWith("/slow") || text.startsWith("/wedge")) {
    run.wedged = text.startsWith("/wedge");
    run.deaf = text.includes("deaf");
    for (let n = 1; n <= 600; n += 1) if (!(await say("text-1", "text", ` Part ${n} of a long answer.`, 40))) return;
  } else if (text.startsWith("/tool")) {
    await say("text-1", "text", "I look at the clock first.", 20);
    tool({ name: "clock", status: "running", input: { zone: "UTC" } });
    await pause(700);
    tool({ name: "clock", status: "done", input: { zone: "UTC" }, output: "2031-04-05T06:07:08Z", summary: "06:07:08 UTC" });
    await say("note-1", "interim", "The clock answered. I put it into words.", 20);
    await say("text-2", "text", "It is a few minutes past six.", 20);
  } else if (text.startsWith("/plan")) {
    await planned(show, tool, pause);
    await say("text-1", "text", "All four steps are done.", 20);
  } else if (text.startsWith("/diff")) {
    tool({ name: "edit", status: "running", input: { files: ["src/greeting.rs"] } });
    await pause(300);
    tool({ name: "edit", status: "done", input: { files: ["src/greeting.rs"] }, summary: "Let the greeting take a name", output: ["Two files were changed.", { path: "src/greeting.rs", old: BEFORE, new: AFTER }, { path: "tests/greeting.rs", old: null, new: "#[test]\nfn greets() {}\n" }] });
    await say("text-1", "text", "The greeting takes a name now.", 20);
  } else if (text.startsWith("/long")) {
    tool({ name: "execute", status: "done", input: { command: "make check" }, summary: "make check", output: Array.from({ length: 400 }, (_, n) => `[${n + 1}/400] check module_${n + 1} … ok`).join("\n") });
    tool({ name: "execute", status: "failed", input: { command: "make publish" }, summary: "make publish", output: "No rule to make target 'publish'." }, "tool-2");
    await say("text-1", "text", "The check passed after many lines.", 20);
  } else if (text.startsWith("/permit")) {
    tool({ name: "execute", status: "running", input: { command: "rm -r build" }, summary: "Delete build/" });
    const answer = await store.ask(run, { kind: "approval", prompt: "Delete the directory build/ with everything in it?", options: ["Allow once", "Always allow", "Reject", "Always reject"], allow_custom: false });
    if (answer === null) return;
    const allowed = answer.choice.includes("llow");
    tool({ name: "execute", status: allowed ? "done" : "failed", input: { command: "rm -r build" }, summary: "Delete build/", output: allowed ? "removed 212 files" : "not permitted" });
    await say("text-2", "text", `I noted ${answer.choice}.`, 20);
  } else if (text.startsWith("/ask2")) {
    const answers = await Promise.all([
      store.ask(run, { kind: "approval", prompt: "May I send the report when it is ready?", options: ["Yes", "No"], allow_custom: false }),
      store.ask(run, { prompt: "Which parts should the report have?", options: ["Summary", "Figures", "Sources"], multi: true, allow_custom: true }),
    ]);
    if (answers.includes(null)) return;
    await say("text-2", "text", `I noted ${JSON.stringify(answers)}.`, 20);
  } else if (text.startsWith("/ask")) {
    await say("text-1", "text", "I need a decision before I go on.", 20);
    const answer = await store.ask(run, { prompt: "Which colour should the door have?", options: ["Green", "Blue", "Red"], allow_custom: true });
    if (answer === null) return;
    await say("text-2", "text", `Then the door will be ${(answer.choice ?? answer.text).toLowerCase()}.`, 20);
  } else if (text.startsWith("/fail")) {
    await say("text-1", "text", "This will not end well.", 20);
    store.settle(run, "failed", store.error(run.session, "turn_failed", "The agent ended with an error.", run.id));
    return;
  } else if (text.startsWith("/flood")) {
    const kinds = ["thinking", "text", "text", "interim"];
    for (let n = 0; n < 1_440; n += 1) {
      const kind = kinds[n % kinds.length];
      if (!store.row(run, "stream_text", { item_id: `${kind}-1`, item_kind: kind, text: `piece ${n} ${"abcdefgh ".repeat(13)}\n` })) return;
      if (n % 32 === 0) tool({ name: "flood", status: "running", summary: `${n} pieces sent` });
      if (n % 32 === 0) await pause(5);
    }
    tool({ name: "flood", status: "done", summary: "1440 pieces sent" });
  } else if (!(await say("text-1", "text", ANSWER.replace("{text}", text), 8))) {
    return;
  }
  store.phase(run, "finalizing");
  await pause(20);
  if (!run.cancelled) store.settle(run, "completed");
}

const BEFORE = Array.from({ length: 30 }, (_, n) => (n === 9 ? "    writeln!(out, \"Hello!\")?;" : `// line ${n + 1} of the file`)).join("\n");
const AFTER = BEFORE.replace("    writeln!(out, \"Hello!\")?;", "    let name = if name.is_empty() { \"you\" } else { name };\n    writeln!(out, \"Hello, {name}!\")?;");
const STEPS = ["Read the release notes", "Compare them with the changelog", "Write the missing entries", "Run the tests"];

async function planned(show, tool, pause) {
  const plan = (done) => show("plan-1", "notice", {
    text: `Plan: ${done} of 4 done`,
    plan: STEPS.map((content, step) => ({ content, status: step < done ? "completed" : step === done ? "in_progress" : "pending", priority: step === 3 ? "high" : "medium" })),
  });
  show("mode-1", "notice", { text: "Mode: Plan, then act", mode: { id: "plan", name: "Plan, then act" } });
  for (let step = 0; step < 4; step += 1) {
    plan(step);
    tool({ name: "work", status: "running", summary: STEPS[step], input: { step } }, `tool-${step + 1}`);
    await pause(250);
    tool({ name: "work", status: "done", summary: STEPS[step], input: { step }, output: "It went as expected." }, `tool-${step + 1}`);
  }
  plan(4);
}
