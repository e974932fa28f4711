import assert from "node:assert/strict";
import { test } from "node:test";
import { words } from "./modules.mjs";

const { beginningOf, CHARS_SHOWN, contextFact, count, endedText, LINES_SHOWN, meaningOf, phaseText, SLOW_STOP_MS, usageFacts, windingText } = words;
const lines = (count) => Array.from({ length: count }, (_, n) => `${n}`).join("\n");

test("an option means what its own words say, and nothing where they say nothing", () => {
  const allow = ["Allow once", "Always allow", "Yes", "Yes, and don't ask again", "Approve", "ok"];
  const deny = ["Reject", "Always reject", "No", "No, and tell the agent what to do", "Deny", "Don't allow", "Cancel", "Never"];
  for (const [options, meaning] of [[allow, "allow"], [deny, "deny"], [["Green", "Notify me", "Okapi", "Edit the plan"], null]]) {
    for (const option of options) assert.equal(meaningOf(option), meaning, option);
  }
});

test("a stop is slow from its bound on", () => {
  for (const [elapsed, slow] of [[SLOW_STOP_MS - 1, false], [SLOW_STOP_MS, true], [SLOW_STOP_MS + 1, true]]) {
    assert.equal(phaseText("cancelling", 0, elapsed).startsWith("Still"), slow);
    assert.equal(windingText("stopping", elapsed).includes("by force"), slow);
  }
  assert.equal(phaseText("running", 2, 0), "Waiting for your 2 answers");
  assert.equal(phaseText("finalizing", 2, 0), "Finishing…");
  assert.equal(windingText("idle", SLOW_STOP_MS), null);
});

test("a text is shortened only when it is well above its bounds", () => {
  for (const [count, shown] of [[LINES_SHOWN, LINES_SHOWN], [LINES_SHOWN + 3, LINES_SHOWN + 3], [LINES_SHOWN + 4, LINES_SHOWN]]) {
    assert.equal(beginningOf(lines(count)).split("\n").length, shown);
  }
  for (const [count, shown] of [[CHARS_SHOWN + 600, CHARS_SHOWN + 600], [CHARS_SHOWN + 601, CHARS_SHOWN]]) {
    assert.equal(beginningOf("x".repeat(count)).length, shown);
  }
});

test("only what is known of a usage is told", () => {
  const none = { input: null, output: null, cached: null, cost: null, context_used: null, context_max: null };
  const texts = (usage) => usageFacts(usage).map((each) => each.text);
  assert.deepEqual([texts(null), texts(none), contextFact(none), contextFact(null)], [[], [], null, null]);
  assert.deepEqual(texts({ ...none, input: 1_200, cached: 0, output: 0, cost: 1_850 }), [`${count(1_200)} tokens in`, "0 out", "cost 0.0019"]);
  assert.deepEqual(texts({ ...none, input: 1_200, cached: 300, cost: 2_500_000 }), [`${count(1_200)} tokens in (300 cached)`, "cost 2.50"]);
  assert.equal(contextFact({ ...none, context_used: 900 }).text, "context 900");
  assert.deepEqual(contextFact({ ...none, context_used: 8_000, context_max: 32_000 }).share, 0.25);
  assert.deepEqual(contextFact({ ...none, context_used: 40_000, context_max: 32_000 }).share, 1);
});

test("each reason for which the server ends a run has words, and any other has none", () => {
  for (const reason of ["shutdown", "worker_lost", "agent_silent", "run_max", "journal_full", "storage_failed"]) {
    assert.match(endedText(reason), /^The (run|server) was .*\.$/, reason);
  }
  for (const reason of ["deleted", null, undefined, "toString"]) assert.equal(endedText(reason), null, String(reason));
});
