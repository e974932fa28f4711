/** Sessions, runs and error records of the mock, with the pushes their changes cause. */

import { randomBytes } from "node:crypto";
import { play } from "./script.mjs";

const hex = (bytes) => randomBytes(bytes).toString("hex");
const can = (steer) => ({ steer, attachments: false, resume: false });
const QUEUE_MAX = 64;

/** Agents of the mock: one as the server has it, one with models, one that cannot be had. */
export const AGENTS = [
  { agent: "demo", label: "Demo", models: [], default_model: null, capabilities: can(true), context: "transcript", available: true },
  { agent: "writer", label: "Local writer", models: ["small", "large"], default_model: "small", capabilities: can(false), context: "transcript", available: true },
  { agent: "coder", label: "Coder", models: [], default_model: null, capabilities: can(true), context: "own", available: false },
];

export class MockStore {
  constructor() {
    this.peers = new Set();
    this.sessions = new Map();
    this.errors = new Map();
    this.timers = new Set();
    this.storeId = hex(8);
    this.agents = structuredClone(AGENTS);
  }

  close() {
    for (const timer of this.timers) clearTimeout(timer);
  }

  later(ms, action) {
    const timer = setTimeout(() => { this.timers.delete(timer); action(); }, ms);
    this.timers.add(timer);
  }

  create(title = "", { agent = "demo", model = null } = {}) {
    const session = {
      id: `ses_${hex(6)}`, title, revision: 1, rows: [], run: null, runs: new Map(), questions: new Map(), status: "idle", activity: Date.now(),
      agent, model: model ?? this.agents.find((each) => each.agent === agent)?.default_model ?? null, queue: [], held: null, usage: null,
    };
    this.sessions.set(session.id, session);
    this.#pushItem(session);
    return session;
  }

  /** Fills a session with settled groups, for tests of the history. */
  seed(session, groups) {
    for (let n = 0; n < groups; n += 1) {
      const at = Date.now() - (groups - n) * 60_000;
      this.#row(session, { role: "user", body: `Question number ${n + 1}`, created_at: at });
      this.#row(session, { role: "assistant", body: `Answer number ${n + 1}. ${"It takes a few lines to read. ".repeat(6)}`, created_at: at + 1_000 });
    }
    this.commit(session);
  }

  item(session) {
    const run = session.run;
    return {
      session_id: session.id, title: session.title, status: session.status, head_id: session.rows.at(-1)?.message_id ?? null,
      session_revision: session.revision, open_error_total: [...this.errors.values()].filter((each) => each.session_id === session.id).length,
      activity_at: session.activity, message_count: session.rows.length, transcript_generation: 0, transcript_generation_baseline: 0,
      run: run && { run_id: run.id, phase: run.phase, attachable: run.phase !== "cancelling" },
      continuation_session_id: null, queue_length: session.queue.length, queue_held: session.held, agent: session.agent, model: session.model, archived: false, shared: false, writable: true, usage: session.usage,
    };
  }

  /** Whether a message starts at once: nothing runs and nothing waits. */
  mayStart(session) {
    return session.status === "idle" && session.queue.length === 0;
  }

  /** Puts a message behind those that wait. Returns its position, or null when there is no room. */
  enqueue(session, text) {
    if (session.queue.length >= QUEUE_MAX) return null;
    session.queue.push({ message_id: `msg_${hex(6)}`, text, created_at: Date.now() });
    this.commit(session);
    return session.queue.at(-1);
  }

  /** The waiting messages as `list_queue` gives them. */
  entries(session) {
    return session.queue.map((entry, index) => ({ message_id: entry.message_id, position: index + 1, summary: [...entry.text].slice(0, 512).join(""), attachments: [], created_at: entry.created_at }));
  }

  removeQueued(session, messageId) {
    const at = session.queue.findIndex((entry) => entry.message_id === messageId);
    if (at === -1) return null;
    const [entry] = session.queue.splice(at, 1);
    if (session.queue.length === 0) session.held = null;
    this.commit(session);
    return entry;
  }

  resumeQueue(session) {
    session.held = null;
    this.commit(session);
    this.startNext(session);
  }

  /** Starts the first waiting message, unless the queue is held. */
  startNext(session) {
    if (session.status !== "idle" || session.held !== null || session.queue.length === 0) return;
    const entry = session.queue.shift();
    this.send(session, entry.text, entry.message_id);
  }

  /** Takes a steer. Returns its id, or null when the run takes none. */
  steer(run, text) {
    const steer = { steer_id: `steer_${hex(4)}`, text, outcome: "accepted" };
    run.steers.push(steer);
    this.later(run.wedged || run.deaf ? 60_000 : 700, () => this.settleSteer(run, steer));
    return steer.steer_id;
  }

  settleSteer(run, steer) {
    if (run.cancelled || run.settled || steer.outcome !== "accepted") return;
    steer.outcome = "consumed";
    run.seq += 1;
    const frame = { session_id: run.session.id, entity_id: run.id, steer_id: steer.steer_id, outcome: "consumed", stream_seq: run.seq };
    run.frames.push({ type: "steer_settled", ...frame });
    this.toSession(run.session, "steer_settled", frame);
  }

  send(session, text, messageId = null) {
    const turn = this.#row(session, { role: "user", body: text, status: "pending", ...(messageId && { message_id: messageId, group_root: messageId }) });
    if (session.title === "") session.title = [...text.replace(/\n/g, " ")].slice(0, 60).join("");
    const run = { id: `run_${hex(6)}`, session, turn, phase: "starting", since: Date.now(), seq: 0, frames: [], items: new Map(), lastNote: 0, cancelled: false, settled: false, steers: [], agent: session.agent, model: session.model };
    session.run = run;
    session.runs.set(run.id, run);
    session.status = "running";
    session.activity = Date.now();
    this.commit(session);
    this.later(30, () => this.phase(run, "running"));
    this.later(60, () => play(this, run, text));
    return run;
  }

  /** Publishes one journal row of a run as its numbered frame. */
  row(run, type, data) {
    if (run.cancelled || run.settled) return false;
    run.seq += 1;
    const base = type === "stream_note" ? run.lastNote : (run.items.get(data.item_id)?.last_seq ?? 0);
    const frame = { session_id: run.session.id, entity_id: run.id, base_seq: base, stream_seq: run.seq, replay_degraded: false, ...data };
    if (type === "stream_note") run.lastNote = run.seq;
    else this.#keepItem(run, frame);
    run.frames.push({ type, ...frame });
    this.toSession(run.session, type, frame);
    return true;
  }

  phase(run, phase) {
    if (run.settled || (run.cancelled && phase !== "cancelling")) return;
    run.phase = phase;
    run.since = Date.now();
    this.toSession(run.session, "run_status", { session_id: run.session.id, run_id: run.id, phase, since: run.since });
    this.#pushItem(run.session);
  }

  stop(run, unwindMs) {
    if (run.cancelled) return;
    this.phase(run, "cancelling");
    run.cancelled = true;
    if (run.session.queue.length > 0) run.session.held = "stopped_by_user";
    for (const question of run.session.questions.values()) this.resolve(run.session, question.question_id, "cancelled");
    this.later(run.wedged ? 1_500 : 400, () => this.settle(run, "cancelled", null, run.wedged ? 3_000 : unwindMs));
  }

  settle(run, status, error = null, unwindMs = 20) {
    if (run.settled) return;
    const { session } = run;
    run.settled = true;
    run.status = status;
    run.turn.status = "completed";
    const usage = this.#usageOf(run);
    run.turn.content_revision += 1;
    const items = [...run.items.values()].sort((a, b) => a.first_seq - b.first_seq);
    if (items.length > 0) {
      const body = items.filter((item) => item.item_kind === "text").map((item) => item.text).join("");
      const parts = items.map((item) => (item.item_kind === "text" ? { ...item, text: undefined, chars: [...item.text].length } : item));
      this.#row(session, { role: "assistant", body, status, extra: { items: parts, run_id: run.id }, agent: run.agent, model: run.model, usage });
      session.usage = sumOf(session.usage, usage);
    }
    const returned = run.steers.filter((steer) => steer.outcome === "accepted");
    for (const steer of returned) steer.outcome = "returned";
    if (status === "cancelled" || status === "interrupted") this.#row(session, { role: "system", body: null, extra: { marker: status } });
    run.seq += 1;
    session.revision += 1;
    if (error) this.errors.set(error.error_id, error);
    for (const question of session.questions.values()) this.resolve(session, question.question_id, "interrupted");
    this.toSession(session, "stream_terminal", { session_id: session.id, entity_id: run.id, stream_seq: run.seq, session_revision: session.revision, status, reason: null, complete: true, committed_in: null, returned_steers: returned.map(({ steer_id, text }) => ({ steer_id, text })), usage, row: null, error });
    session.status = "stopping";
    session.run = null;
    if (unwindMs > 100) this.#pushItem(session);
    this.later(unwindMs, () => {
      session.status = "idle";
      this.#pushItem(session);
      this.startNext(session);
    });
  }

  /** The demo counts words; the writer has a context and a price. */
  #usageOf(run) {
    const output = [...run.items.values()].reduce((sum, item) => sum + (item.text?.length ?? 0), 0) >> 2;
    if (run.agent === "demo") return { input: 120, output, cached: null, cost: null, context_used: null, context_max: null };
    return { input: 4_210, output, cached: 3_900, cost: 1_850, context_used: 4_210 + output, context_max: 32_768 };
  }

  ask(run, question) {
    const full = { question_id: `q_${hex(4)}`, run_id: run.id, kind: "question", question_version: 1, marker: null, multi: false, expires_at: Date.now() + 120_000, ...question };
    run.session.questions.set(full.question_id, full);
    run.session.revision += 1;
    this.row(run, "stream_note", { names: ["question_asked"] });
    run.session.status = "waiting";
    this.#pushItem(run.session);
    this.toSession(run.session, "question_asked", { session_id: run.session.id, question: full, session_revision: run.session.revision });
    return new Promise((resolve) => { run.onAnswer = run.onAnswer ?? new Map(); run.onAnswer.set(full.question_id, resolve); });
  }

  resolve(session, id, outcome, answer = null, except = null) {
    const question = session.questions.get(id);
    if (!question) return false;
    session.questions.delete(id);
    session.revision += 1;
    if (session.status === "waiting" && session.questions.size === 0) session.status = "running";
    this.toSession(session, "question_resolved", { request_id: null, session_id: session.id, question_id: id, outcome, session_revision: session.revision }, except);
    this.#pushItem(session);
    session.runs.get(question.run_id)?.onAnswer?.get(id)?.(answer);
    return true;
  }

  error(session, code, message, operation) {
    return { error_id: `err_${hex(16)}`, request_id: null, scope: "session", code, message, action: null, session_id: session?.id ?? null, operation_id: operation ?? null, retryable: false, severity: "error", correlation_id: `corr_${hex(16)}`, occurred_at: new Date().toISOString() };
  }

  commit(session) {
    session.revision += 1;
    this.#pushItem(session);
  }

  toSession(session, type, data, except = null) {
    for (const peer of this.peers) if (peer !== except && peer.open.has(session.id)) peer.push(type, data);
  }

  #pushItem(session) {
    for (const peer of this.peers) peer.push("session_item", { session_id: session.id, removed: false, item: this.item(session) });
  }

  #keepItem(run, frame) {
    let item = run.items.get(frame.item_id);
    if (!item) {
      item = { item_id: frame.item_id, item_kind: frame.item_kind, first_seq: frame.stream_seq, last_seq: 0, text: null, value: null, marker: null };
      run.items.set(item.item_id, item);
    }
    item.last_seq = frame.stream_seq;
    if (frame.text !== undefined) item.text = (item.text ?? "") + frame.text;
    if (frame.value !== undefined) item.value = frame.value;
  }

  #row(session, fields) {
    const id = `msg_${hex(6)}`;
    const row = {
      message_id: id, group_root: id, created_at: Date.now(), predecessor: session.rows.at(-1)?.message_id ?? null, caller: null, status: "completed",
      content_revision: 1, session_revision: session.revision + 1, summary: null, detail: null, tool_result: null, attachments: [],
      agent: fields.role === "assistant" ? session.agent : null, model: null, usage: null, refs: [], extra: {}, ...fields,
    };
    session.rows.push(row);
    return row;
  }
}

function sumOf(a, b) {
  if (a === null) return b;
  const sum = (field) => (a[field] === null && b[field] === null ? null : (a[field] ?? 0) + (b[field] ?? 0));
  return { input: sum("input"), output: sum("output"), cached: sum("cached"), cost: sum("cost"), context_used: b.context_used, context_max: b.context_max };
}
