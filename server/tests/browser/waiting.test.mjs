import assert from "node:assert/strict";
import { test } from "node:test";
import { agents, projection, queue, steers } from "./modules.mjs";

const { Queue } = queue;
const { Steers } = steers;
const kinds = (effects) => effects.map((each) => each.kind);
const entry = (id, position) => ({ message_id: id, position, summary: id, attachments: [], created_at: 1 });
const list = (revision, ids, held = null) => ({ session_id: "s", session_revision: revision, held, entries: ids.map((id, index) => entry(id, index + 1)) });
const ids = (machine) => machine.entries.map((each) => each.message_id);
const item = (revision, fields = {}) => ({ session_id: "s", session_revision: revision, status: "running", run: null, activity_at: revision, queue_length: 0, queue_held: null, ...fields });
const manifest = (fields = {}) => ({ session_id: "s", generation: 1, session_revision: 1, status: "idle", running: {}, open_questions: [], open_error_ids: [], queue: { length: 0, held: null }, ...fields });

test("a queue is read when its session changes, once at a time, and never when it is empty", () => {
  const machine = new Queue();
  assert.deepEqual(kinds(machine.update({ length: 0, held: null, revision: 1 })), []);
  assert.deepEqual(kinds(machine.update({ length: 1, held: null, revision: 2 })), ["list_queue"]);
  assert.deepEqual(kinds(machine.update({ length: 2, held: null, revision: 3 })), []);
  assert.deepEqual(kinds(machine.page(list(2, ["a"]))), ["list_queue"]);
  assert.deepEqual(kinds(machine.page(list(3, ["a", "b"]))), []);
  assert.deepEqual(ids(machine), ["a", "b"]);
  assert.deepEqual(kinds(machine.update({ length: 2, held: null, revision: 3 })), []);
  machine.update({ length: 0, held: null, revision: 4 });
  assert.deepEqual(ids(machine), []);
});

test("an older list changes nothing, a failed one is read again later", () => {
  const machine = new Queue();
  machine.update({ length: 1, held: null, revision: 5 });
  machine.page(list(5, ["a"]));
  machine.update({ length: 1, held: "stopped_by_user", revision: 6 });
  machine.page(list(4, []));
  assert.deepEqual([ids(machine), machine.held], [["a"], "stopped_by_user"]);
  const [later] = machine.failed();
  assert.equal(later.kind, "queue_later");
  assert.deepEqual(kinds(machine.retry()), ["list_queue"]);
});

test("a read that ended with its connection does not keep the next one from starting", () => {
  const machine = new Queue();
  machine.update({ length: 1, held: null, revision: 5 });
  machine.disconnected();
  assert.deepEqual(kinds(machine.update({ length: 1, held: null, revision: 5 })), ["list_queue"]);
});

test("a message on its way shows until a list that is as new has it or has let it go", () => {
  const machine = new Queue();
  machine.submit("k", "text");
  assert.equal(machine.waits, true);
  assert.deepEqual(kinds(machine.acknowledged("k", { message_id: "m", session_revision: 3 })), ["list_queue"]);
  machine.page(list(2, []));
  assert.equal(machine.sending.length, 1);
  machine.page(list(3, ["m"]));
  assert.deepEqual([machine.sending.length, ids(machine)], [0, ["m"]]);
  machine.submit("l", "refused");
  machine.drop("l");
  assert.equal(machine.sending.length, 0);
});

test("what was meant for the queue and started at once is a message on its way", () => {
  const machine = new projection.Projection("s");
  machine.nextGeneration();
  machine.open(manifest());
  machine.queue.submit("k", "go");
  machine.enqueued({ localId: "k", text: "go", createdAt: 1 }, { message_id: "m", run_id: "r", session_revision: 2, pending_started_at: 1 });
  assert.deepEqual([machine.queue.waits, machine.optimistic.length, machine.run.run_id], [false, 1, "r"]);
  machine.submit({ localId: "l", text: "behind", createdAt: 1 });
  machine.acknowledged("l", { message_id: "n", run_id: null, session_revision: 3 });
  assert.deepEqual([machine.optimistic.length, machine.queue.sending[0].text, machine.submitting], [1, "behind", false]);
});

test("a message may wait while the server says busy, and not while a session recovers", () => {
  const machine = new projection.Projection("s");
  machine.nextGeneration();
  machine.open(manifest());
  for (const [status, may] of [["idle", false], ["errored", false], ["running", true], ["waiting", true], ["stopping", true], ["unsettled", false]]) {
    machine.updateItem(item(2, { status }));
    assert.equal(machine.mayQueue, may, status);
  }
});

test("a steer is shown from its sending to its settlement, whichever answer comes first", () => {
  const machine = new Steers();
  machine.submit("k", "r", "shorter", 3.5);
  machine.settled("r", "s1", "consumed", 4);
  machine.accepted("k", "s1");
  assert.deepEqual(machine.ofRun("r").map((each) => [each.text, each.state]), [["shorter", "consumed"]]);
  machine.submit("l", "r", "again", 5);
  machine.accepted("l", "s2");
  machine.state("r", [{ steer_id: "s1", outcome: "consumed" }, { steer_id: "s2", outcome: "accepted" }, { steer_id: "s3", outcome: "accepted" }], 6);
  assert.deepEqual(machine.ofRun("r").map((each) => each.state), ["consumed", "accepted", "accepted"]);
  machine.terminal("r", [{ steer_id: "s2", text: "again" }, { steer_id: "s3", text: "of another window" }]);
  machine.left("r");
  assert.deepEqual(machine.returned.map((each) => each.text), ["again", "of another window"]);
  machine.drop(machine.returned[0].key);
  assert.equal(machine.list.length, 1);
});

test("a steer whose settlement was missed is not lost with its run", () => {
  const machine = new Steers();
  machine.submit("k", "r", "mine", 1);
  machine.accepted("k", "s1");
  machine.settled("r", "s2", "accepted", 2);
  machine.submit("l", "r", "read", 3);
  machine.accepted("l", "s3");
  machine.settled("r", "s3", "consumed", 4);
  machine.left("r");
  assert.deepEqual(machine.returned.map((each) => [each.text, each.state]), [["mine", "lost"]]);
  assert.equal(machine.list.length, 1);
});

test("the next session gets what was chosen, else the first agent that can be had", () => {
  const machine = new agents.AgentList();
  const agent = (name, fields = {}) => ({ agent: name, label: name, models: [], default_model: null, capabilities: { steer: false }, available: true, ...fields });
  assert.deepEqual(machine.next, { agent: null, model: null });
  machine.page({ agents: [agent("a", { available: false }), agent("b", { models: ["x", "y"], default_model: "x" })] });
  assert.deepEqual(machine.next, { agent: "b", model: "x" });
  machine.choose("b", "y");
  assert.deepEqual(machine.next, { agent: "b", model: "y" });
  machine.page({ agents: [agent("a"), agent("b", { models: ["x"], default_model: "x" })] });
  assert.deepEqual(machine.next, { agent: "b", model: "x" });
  machine.page({ agents: [agent("a")] });
  assert.deepEqual(machine.next, { agent: "a", model: null });
});
