import assert from "node:assert/strict";
import { test } from "node:test";
import { requests } from "./modules.mjs";

const { Requests, PENDING_MAX, RESEND_MAX, REQUEST_TIMEOUT_MS, LOAD_TIMEOUT_MS, RUN_TIMEOUT_MS, ASK_AGAIN_MS, ASK_BUDGET_MS } = requests;

const SEND = { session_id: "s", text: "hi", idempotency_key: "k" };
const reply = (id, type, data = {}) => ({ type, data: { request_id: id, ...data } });
const settled = (effects) => effects.filter((each) => each.kind === "settle").map((each) => each.outcome);
const sent = (effects) => effects.filter((each) => each.kind === "send").map((each) => each.message);

test("a reply settles its request once; another id, type or action settles nothing", () => {
  const machine = new Requests("p");
  const { id } = machine.start(0, "load_history", { session_id: "s" });
  assert.equal(machine.frame(1, reply("other", "history_page")), null);
  assert.equal(machine.frame(1, reply(id, "sessions_list")), null);
  assert.equal(machine.frame(1, reply(id, "operation_error", { action: "get_stream" })), null);
  assert.deepEqual(settled(machine.frame(1, reply(id, "history_page"))), ["done"]);
  assert.equal(machine.frame(1, reply(id, "history_page")), null);
});

test("refusals and errors settle as such", () => {
  const machine = new Requests("p");
  const first = machine.start(0, "send_message", SEND);
  assert.deepEqual(settled(machine.frame(1, reply(first.id, "message_refused", { code: "session_busy" }))), ["refused"]);
  const second = machine.start(0, "stop_run", {});
  assert.deepEqual(settled(machine.frame(1, reply(second.id, "stop_result", { outcome: "refused", code: "remote_refused" }))), ["refused"]);
  const third = machine.start(0, "send_message", SEND);
  assert.deepEqual(settled(machine.frame(1, reply(third.id, "operation_error", { action: "send_message" }))), ["failed"]);
});

test("each kind has its timeout: reads end, changes ask for their result", () => {
  for (const [action, limit] of [["list_sessions", REQUEST_TIMEOUT_MS], ["load_history", LOAD_TIMEOUT_MS]]) {
    const machine = new Requests("p");
    machine.start(0, action, {});
    assert.deepEqual(machine.tick(limit - 1), []);
    assert.deepEqual(settled(machine.tick(limit)), ["ended"]);
  }
  const machine = new Requests("p");
  const { id } = machine.start(0, "send_message", SEND);
  assert.deepEqual(machine.tick(RUN_TIMEOUT_MS - 1), []);
  const effects = machine.tick(RUN_TIMEOUT_MS);
  assert.deepEqual(effects.map((each) => each.kind), ["unknown", "send"]);
  assert.equal(sent(effects)[0].target_request_id, id);
});

test("a close ends reads and makes changes Unknown, whose outcome is asked for when connected again", () => {
  const machine = new Requests("p");
  machine.start(0, "load_history", {});
  const { id } = machine.start(0, "send_message", SEND);
  assert.deepEqual(machine.closed().map((each) => each.outcome ?? each.kind), ["ended", "unknown"]);
  const [ask] = sent(machine.connected(10));
  assert.equal(ask.target_request_id, id);
  const ack = reply(id, "message_ack", { run_id: "r" });
  const effects = machine.frame(20, reply(ask.request_id, "request_result", { state: "done", reply: ack }));
  assert.deepEqual(settled(effects), ["done"]);
  assert.equal(effects[0].data.run_id, "r");
});

test("a refusal or an error that is learnt later settles like one learnt at once", () => {
  for (const [result, outcome] of [
    [{ state: "done", reply: reply(null, "message_refused", { code: "session_busy" }) }, "refused"],
    [{ state: "failed", error: { code: "handler_error" } }, "failed"],
  ]) {
    const machine = new Requests("p");
    machine.start(0, "send_message", SEND);
    machine.closed();
    const [ask] = sent(machine.connected(10));
    assert.deepEqual(settled(machine.frame(20, reply(ask.request_id, "request_result", result))), [outcome]);
  }
});

test("a change the server never saw is sent again with its own key, at most three times", () => {
  const machine = new Requests("p");
  machine.start(0, "send_message", SEND);
  for (let round = 0; round < RESEND_MAX; round += 1) {
    machine.closed();
    const [ask] = sent(machine.connected(10));
    const [again] = sent(machine.frame(20, reply(ask.request_id, "request_result", { state: "unknown" })));
    assert.equal(again.idempotency_key, "k");
  }
  machine.closed();
  const [ask] = sent(machine.connected(10));
  assert.deepEqual(settled(machine.frame(20, reply(ask.request_id, "request_result", { state: "unknown" }))), ["unknown"]);
});

test("a change without a key is never sent again", () => {
  const machine = new Requests("p");
  machine.start(0, "stop_run", { session_id: "s", run_id: "r" });
  machine.closed();
  const [ask] = sent(machine.connected(10));
  assert.deepEqual(settled(machine.frame(20, reply(ask.request_id, "request_result", { state: "unknown" }))), ["unknown"]);
});

test("a pending result is asked again after 250 ms, for at most 30 s", () => {
  const machine = new Requests("p");
  machine.start(0, "send_message", SEND);
  machine.closed();
  let [ask] = sent(machine.connected(0));
  let now = 0;
  while (now < ASK_BUDGET_MS - ASK_AGAIN_MS) {
    machine.frame(now, reply(ask.request_id, "request_result", { state: "pending" }));
    assert.deepEqual(machine.tick(now + ASK_AGAIN_MS - 1), []);
    now += ASK_AGAIN_MS;
    [ask] = sent(machine.tick(now));
  }
  machine.frame(now, reply(ask.request_id, "request_result", { state: "pending" }));
  assert.deepEqual(settled(machine.tick(ASK_BUDGET_MS)), ["unknown"]);
});

test("the 129th pending request is not started", () => {
  const machine = new Requests("p");
  for (let n = 0; n < PENDING_MAX; n += 1) assert.notEqual(machine.start(0, "list_sessions", {}), null);
  assert.equal(machine.start(0, "list_sessions", {}), null);
});
