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
  const tool = (value) => store.row(run, "stream_update", { item_id: "tool-1", item_kind: "tool", kind: "tool", value });
  await say("think-1", "thinking", "The person wrote a prompt. I consider what it asks for and how to answer it in a short and useful way.", 12);
  if (text.startsWith("/slow") || text.startsWith("/wedge")) {
    run.wedged = text.startsWith("/wedge");
    for (let n = 1; n <= 600; n += 1) if (!(await say("text-1", "text", ` Part ${n} of a long answer.`, 40))) return;
  } else if (text.startsWith("/tool")) {
    await say("text-1", "text", "I look at the clock first.", 20);
    tool({ name: "clock", status: "running", input: { zone: "UTC" } });
    await pause(700);
    tool({ name: "clock", status: "done", input: { zone: "UTC" }, output: "2031-04-05T06:07:08Z", summary: "06:07:08 UTC" });
    await say("note-1", "interim", "The clock answered. I put it into words.", 20);
    await say("text-2", "text", "It is a few minutes past six.", 20);
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
