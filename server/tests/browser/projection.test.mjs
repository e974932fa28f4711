import assert from "node:assert/strict";
import { test } from "node:test";
import { errors, history, projection, scene, sessions, timeline } from "./modules.mjs";

const { Projection } = projection;
const { Scene, itemsOfRow } = scene;

const text = (seq, base, words, item = "t") => ({ session_id: "s", entity_id: "r", item_id: item, item_kind: "text", base_seq: base, stream_seq: seq, replay_degraded: false, text: words });
const tool = (seq, status) => ({ session_id: "s", entity_id: "r", item_id: "tool", item_kind: "tool", kind: "tool", stream_seq: seq, replay_degraded: false, value: { name: "clock", status } });
const row = (id, role, fields = {}) => ({ message_id: id, role, body: id, created_at: 1, status: "completed", content_revision: 1, session_revision: 1, extra: {}, summary: null, ...fields });
const page = (revision, rows, fields = {}) => ({ session_id: "s", generation: 1, session_revision: revision, snapshot: `n${revision}`, rows, start: 0, end: rows.length, total: rows.length, before: null, after: null, ...fields });
const manifest = (fields = {}) => ({ session_id: "s", generation: 1, session_revision: 1, status: "idle", running: {}, open_questions: [], open_error_ids: [], ...fields });
const item = (revision, fields = {}) => ({ session_id: "s", session_revision: revision, status: "idle", run: null, activity_at: revision, ...fields });
const terminal = (status, revision, seq = 99) => ({ session_id: "s", entity_id: "r", stream_seq: seq, session_revision: revision, status, error: null });
const kinds = (effects) => effects.map((each) => each.kind);
const bodyOf = (machine) => machine.items.map((each) => each.text ?? each.value.status).join("|");

function open(fields) {
  const machine = new Projection("s");
  machine.nextGeneration();
  const effects = machine.open(manifest(fields));
  return { machine, effects };
}

test("numbered frames apply once, in order, whatever is repeated", () => {
  const machine = new Scene("s", "r");
  const frames = [["stream_text", text(1, 0, "a")], ["stream_update", tool(2, "running")], ["stream_text", text(4, 1, "bc")], ["stream_update", tool(5, "done")]];
  for (const [type, data] of [...frames, ...frames]) machine.apply(type, data);
  assert.equal(bodyOf(machine), "abc|done");
  assert.equal(machine.seq, 5);
});

test("a missing frame is a gap and moves nothing", () => {
  const machine = new Scene("s", "r");
  machine.apply("stream_text", text(1, 0, "a"));
  assert.equal(machine.apply("stream_text", text(5, 3, "d")), "gap");
  assert.equal(machine.seq, 1);
  assert.equal(bodyOf(machine), "a");
});

test("a state of items, of deltas and the frames themselves lead to the same items", () => {
  const frames = [["stream_text", text(1, 0, "a")], ["stream_update", tool(2, "running")], ["stream_text", text(3, 1, "b")], ["stream_text", text(4, 0, "c", "u")]];
  const live = new Scene("s", "r");
  for (const [type, data] of frames) live.apply(type, data);
  const items = new Scene("s", "r");
  items.applyState({ replay: { state: "complete" }, stream_seq: 4, deltas: null, items: [
    { item_id: "u", item_kind: "text", first_seq: 4, last_seq: 4, text: "c" },
    { item_id: "t", item_kind: "text", first_seq: 1, last_seq: 3, text: "ab" },
    { item_id: "tool", item_kind: "tool", first_seq: 2, last_seq: 2, value: { status: "running" } }] });
  const deltas = new Scene("s", "r");
  deltas.apply(...frames[0]);
  deltas.applyState({ replay: { state: "complete" }, stream_seq: 4, from_seq: 0, items: null, deltas: frames.map(([type, data]) => ({ type, ...data })) });
  assert.equal(bodyOf(live), "ab|running|c");
  assert.equal(bodyOf(items), bodyOf(live));
  assert.equal(bodyOf(deltas), bodyOf(live));
  for (const machine of [live, items, deltas]) assert.equal(machine.apply("stream_text", text(5, 3, "!")), "applied");
});

test("after the first terminal nothing of the run changes", () => {
  const machine = new Scene("s", "r");
  machine.apply("stream_text", text(1, 0, "a"));
  assert.equal(machine.settle({ status: "cancelled" }), true);
  assert.equal(machine.settle({ status: "completed" }), false);
  assert.equal(machine.apply("stream_text", text(2, 1, "b")), "ignored");
  assert.equal(bodyOf(machine), "a");
});

test("an event without a number shows but moves no known seq", () => {
  const machine = new Scene("s", "r");
  machine.apply("stream_text", { ...text(null, null, "a"), replay_degraded: true });
  assert.equal(machine.seq, 0);
  assert.equal(machine.degraded, true);
  assert.equal(bodyOf(machine), "a");
});

test("a settled body is cut by Unicode scalar values", () => {
  const parts = [{ item_id: "a", item_kind: "text", first_seq: 1, last_seq: 1, chars: 2 }, { item_id: "b", item_kind: "thinking", first_seq: 2, last_seq: 2, text: "hm" }, { item_id: "c", item_kind: "text", first_seq: 3, last_seq: 3, chars: 1 }];
  const items = itemsOfRow(row("m", "assistant", { body: "👍é好", extra: { items: parts } }));
  assert.deepEqual(items.map((each) => each.text), ["👍é", "hm", "好"]);
  assert.deepEqual(itemsOfRow(row("m", "assistant")).map((each) => each.text), ["m"]);
});

test("a body too long for a page is stood for by its summary, once", () => {
  const parts = [{ item_id: "a", item_kind: "text", first_seq: 1, chars: 9 }, { item_id: "b", item_kind: "tool", first_seq: 2, value: { name: "x" } }, { item_id: "c", item_kind: "text", first_seq: 3, chars: 9 }];
  const items = itemsOfRow(row("m", "assistant", { body: null, summary: "It began", detail: { node_id: "m" }, extra: { items: parts } }));
  assert.deepEqual(items.map((each) => each.text ?? each.value.name), ["It began…", "x"]);
});

test("opening reads the newest page and the state of every running entity", () => {
  const { effects } = open({ running: { r: 7 } });
  assert.deepEqual(kinds(effects), ["load_latest", "get_stream"]);
});

test("any number of commits while a read is pending cause one further read", () => {
  const { machine } = open();
  assert.deepEqual([2, 3, 4].flatMap((revision) => machine.updateItem(item(revision))), []);
  assert.deepEqual(kinds(machine.page(page(1, []))), ["load_latest"]);
  assert.deepEqual(machine.page(page(4, [])), []);
  assert.deepEqual(machine.updateItem(item(4)), [], "nothing moved");
  assert.deepEqual(kinds(machine.updateItem(item(5))), ["load_latest"]);
});

test("a gap asks for the state once, with the known seq", () => {
  const { machine } = open();
  machine.frame("stream_text", text(1, 0, "a"));
  const first = machine.frame("stream_text", text(5, 3, "d"));
  assert.deepEqual(first, [{ kind: "get_stream", entityId: "r", knownSeq: 1 }]);
  assert.deepEqual(machine.frame("stream_text", text(6, 5, "e")), []);
  machine.streamState({ entity_id: "r", status: "running", phase: "running", replay: { state: "complete" }, stream_seq: 6, session_revision: 1, items: null, deltas: [{ type: "stream_text", ...text(6, 1, "bcde") }] });
  assert.equal(bodyOf(machine.scenes.get("r")), "abcde");
  assert.equal(machine.frame("sync_required", { session_id: "s", entity_id: "r" })[0].kind, "get_stream");
});

test("the live scene stands until the page that holds its record, in one update", () => {
  const { machine } = open();
  machine.page(page(1, []));
  machine.frame("stream_text", text(1, 0, "a"));
  machine.page(page(2, [row("u", "user", { status: "pending" })]));
  assert.deepEqual(keysOf(machine), ["row:u", "live:r"]);
  machine.frame("stream_terminal", terminal("completed", 3));
  assert.deepEqual(keysOf(machine), ["row:u", "live:r"]);
  machine.page(page(2, [row("u", "user", { status: "pending" })]));
  assert.deepEqual(keysOf(machine), ["row:u", "live:r"], "a page from before the terminal does not end it");
  machine.page(page(3, [row("u", "user"), row("a", "assistant")]));
  assert.deepEqual(keysOf(machine), ["row:u", "row:a"]);
});

test("nothing of a run shows before its prompt", () => {
  const { machine } = open();
  machine.frame("stream_text", text(1, 0, "a"));
  machine.page(page(1, []));
  assert.deepEqual(keysOf(machine), [], "that page was asked for before the run was known");
  machine.page(page(2, [row("u", "user", { status: "pending" })]));
  assert.deepEqual(keysOf(machine), ["row:u", "live:r"]);
});

test("an own message shows once, whichever of acknowledgement and page comes first", () => {
  for (const order of ["ack first", "page first"]) {
    const { machine } = open();
    machine.page(page(1, [row("old", "user", { body: "hi" })]));
    machine.submit({ localId: "l", text: "hi", createdAt: 5 });
    assert.deepEqual(keysOf(machine), ["row:old", "sending:l"]);
    const acknowledge = () => machine.acknowledged("l", { message_id: "u", run_id: "r", session_revision: 2, pending_started_at: 5 });
    const read = () => machine.page(page(2, [row("old", "user", { body: "hi" }), row("u", "user", { body: "hi", status: "pending" })]));
    for (const step of order === "ack first" ? [acknowledge, read] : [read, acknowledge]) step();
    assert.deepEqual(keysOf(machine), ["row:old", "row:u", "live:r"], order);
  }
});

test("Stop is offered exactly while the server names a run without terminal", () => {
  const { machine } = open();
  assert.equal(machine.mayStop, false);
  machine.updateItem(item(2, { status: "running", run: { run_id: "r", phase: "running" } }));
  assert.equal(machine.mayStop, true);
  machine.frame("run_status", { session_id: "s", run_id: "r", phase: "cancelling", since: 1 });
  assert.equal(machine.mayStop, true);
  assert.equal(machine.run.phase, "cancelling");
  machine.frame("stream_terminal", terminal("cancelled", 3));
  assert.equal(machine.mayStop, false);
  machine.frame("run_status", { session_id: "s", run_id: "r", phase: "running", since: 1 });
  assert.equal(machine.mayStop, false, "a latched run never becomes busy again");
  assert.equal(machine.maySend, false, "the server has not said idle yet");
  machine.updateItem(item(4));
  assert.equal(machine.maySend, true);
});

test("an older list entry changes nothing", () => {
  const { machine } = open();
  machine.updateItem(item(5, { status: "running", run: { run_id: "r", phase: "running" } }));
  machine.updateItem(item(4));
  assert.equal(machine.mayStop, true);
  const list = new sessions.SessionList();
  list.put(item(5));
  list.put(item(4, { status: "errored" }));
  assert.equal(list.get("s").status, "idle");
});

test("a run that ended while away is settled by what the reconnect brings", () => {
  const { machine } = open({ running: { r: 1 } });
  machine.streamState({ entity_id: "r", status: "running", phase: "running", replay: { state: "complete" }, stream_seq: 1, session_revision: 1, deltas: null, items: [{ item_id: "t", item_kind: "text", first_seq: 1, last_seq: 1, text: "a" }] });
  machine.page(page(1, [row("u", "user")]));
  machine.disconnected();
  assert.deepEqual(keysOf(machine), ["row:u", "live:r"], "the view stays while disconnected");
  machine.nextGeneration();
  machine.updateItem(item(3));
  machine.open(manifest({ session_revision: 3 }));
  assert.equal(machine.scenes.get("r").terminal.status, null, "no outcome is assumed");
  machine.page(page(3, [row("u", "user"), row("a", "assistant")]));
  assert.deepEqual(keysOf(machine), ["row:u", "row:a"]);
});

test("questions stand where they were asked and close with their outcome or their run", () => {
  const { machine } = open();
  machine.page(page(1, []));
  machine.frame("stream_text", text(1, 0, "a"));
  for (const id of ["q1", "q2"]) machine.frame("question_asked", { session_id: "s", question: { question_id: id, run_id: "r", options: [] } });
  machine.frame("question_resolved", { session_id: "s", question_id: "q1", outcome: "answered", session_revision: 2 });
  assert.deepEqual([...machine.questions.values()].map((each) => each.outcome), ["answered", null]);
  machine.frame("stream_terminal", terminal("cancelled", 3));
  assert.deepEqual([...machine.questions.values()].map((each) => each.outcome), ["answered", "interrupted"]);
});

test("earlier pages stay in front of a newer newest page, each row once", () => {
  const machine = new history.History();
  machine.invalidate();
  machine.page(page(1, [row("c", "user"), row("d", "user")], { before: "c" }));
  assert.deepEqual(machine.loadEarlier(), [{ kind: "load_before", before: "c", snapshot: "n1" }]);
  machine.page(page(1, [row("a", "user"), row("b", "user")]));
  machine.invalidate();
  machine.page(page(2, [row("d", "user"), row("e", "user")], { before: "d" }));
  assert.deepEqual(machine.rows.map((each) => each.message_id), ["a", "b", "c", "d", "e"]);
  assert.equal(machine.hasEarlier, false);
});

test("at most six pages are held; the newest ones go while older ones are read", () => {
  const machine = new history.History();
  machine.invalidate();
  machine.page(page(1, [row("n0", "user")], { before: "n0" }));
  for (let n = 1; n <= history.PAGES_MAX; n += 1) {
    assert.equal(machine.detached, false);
    machine.loadEarlier();
    machine.page(page(1, [row(`n${n}`, "user")], { before: `n${n}` }));
  }
  assert.equal(machine.detached, true);
  assert.equal(machine.rows.length, history.PAGES_MAX);
  assert.deepEqual(kinds(machine.reset()), ["load_latest"]);
});

test("a failed read of the newest page is repeated after a growing wait", () => {
  const { machine } = open();
  assert.deepEqual([0, 4, 5, 99].map(history.backoff), [1_000, 16_000, history.BACKOFF_CAP_MS, history.BACKOFF_CAP_MS]);
  assert.deepEqual(machine.pageFailed("rate_limited"), [{ kind: "read_later", delayMs: 1_000 }]);
  assert.deepEqual(kinds(machine.history.invalidate()), ["load_latest"]);
  assert.deepEqual(machine.pageFailed(null), [{ kind: "read_later", delayMs: 2_000 }]);
  machine.history.invalidate();
  machine.page(page(1, []));
  machine.history.invalidate();
  assert.deepEqual(machine.pageFailed(null), [{ kind: "read_later", delayMs: 1_000 }]);
});

test("a stream state that fails is asked for again after a wait, an unknown entity never", () => {
  const { machine } = open({ running: { r: 1 } });
  const [later] = machine.streamFailed("r", null);
  assert.equal(later.kind, "stream_later");
  assert.deepEqual(machine.frame("stream_text", text(2, 1, "b")), [], "frames do not ask meanwhile");
  assert.deepEqual(kinds(machine.streamRetry("r")), ["get_stream"]);
  assert.deepEqual(machine.streamFailed("r", "cursor_unavailable"), []);
  assert.deepEqual(machine.frame("sync_required", { session_id: "s", entity_id: "r" }), []);
});

test("equal failures toast once per five seconds, known and owned ones never, all are kept", () => {
  const store = new errors.ErrorStore();
  const record = (id, fields = {}) => ({ error_id: id, scope: "session", code: "handler_error", session_id: "s", operation_id: null, severity: "error", occurred_at: "2031-01-01T00:00:00.000Z", ...fields });
  assert.equal(store.add(0, record("a")), true);
  assert.equal(store.add(1, record("a")), false);
  assert.equal(store.add(errors.TOAST_WINDOW_MS - 1, record("b")), false);
  assert.equal(store.add(errors.TOAST_WINDOW_MS, record("c")), true);
  assert.equal(store.add(0, record("d", { code: "x" }), { owned: true }), false);
  assert.equal(store.add(0, record("e", { severity: "warning", code: "y" })), false);
  assert.deepEqual(store.ofSession("s").map((each) => each.error_id), ["a", "b", "c", "d"]);
});

function keysOf(machine) {
  return timeline.timeline(machine, []).map((entry) => entry.key);
}

test("an entry that was on its way when its session was deleted brings nothing back", () => {
  const list = new sessions.SessionList();
  list.put(item(1));
  list.remove("s");
  list.put(item(2));
  list.page({ sessions: [item(2), { ...item(1), session_id: "t" }], next_cursor: null }, true);
  assert.deepEqual(list.items.map((each) => each.session_id), ["t"]);
});

test("settled rows offer what can be done to them, and only while nothing runs", () => {
  const { machine } = open();
  const rows = [row("q1", "user"), row("a1", "assistant"), row("q2", "user"), row("a2", "assistant", { status: "failed" })];
  machine.page(page(1, rows));
  machine.updateItem(item(1));
  const offered = () => timeline.timeline(machine, []).map((entry) => entry.actions ?? null);
  assert.deepEqual(offered(), [["edit"], ["truncate"], ["edit"], ["retry"]]);
  machine.updateItem(item(2, { status: "running", run: { run_id: "r", phase: "running" } }));
  assert.deepEqual(offered(), [null, null, null, null]);
  machine.updateItem(item(3));
  machine.page(page(3, rows.slice(0, 2)));
  assert.deepEqual(offered(), [["edit"], ["regenerate"]]);
  machine.page(page(3, [row("q1", "user")]));
  assert.deepEqual(offered(), [["edit", "retry"]]);
});

test("the turn of a rewrite shows behind the rows that are left", () => {
  const { machine } = open();
  machine.page(page(1, [row("q1", "user"), row("a1", "assistant")]));
  machine.updateItem(item(1, { transcript_generation: 0 }));
  assert.deepEqual(kinds(machine.rewritten({ run_id: "r", pending_started_at: 5 })), ["load_latest"]);
  machine.frame("stream_text", text(1, 0, "new"));
  assert.equal(timeline.timeline(machine, []).some((entry) => entry.kind === "live"), false, "its prompt is read first");
  machine.page(page(2, [row("q2", "user")]));
  assert.deepEqual(timeline.timeline(machine, []).map((entry) => entry.key), ["row:q2", "live:r"]);
});
