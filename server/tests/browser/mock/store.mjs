/** Sessions, runs and error records of the mock, with the pushes their changes cause. */

import { randomBytes } from "node:crypto";
import { play } from "./script.mjs";

const hex = (bytes) => randomBytes(bytes).toString("hex");

export class MockStore {
  constructor() {
    this.peers = new Set();
    this.sessions = new Map();
    this.errors = new Map();
    this.timers = new Set();
    this.storeId = hex(8);
  }

  close() {
    for (const timer of this.timers) clearTimeout(timer);
  }

  later(ms, action) {
    const timer = setTimeout(() => { this.timers.delete(timer); action(); }, ms);
    this.timers.add(timer);
  }

  create(title = "") {
    const session = { id: `ses_${hex(6)}`, title, revision: 1, rows: [], run: null, runs: new Map(), questions: new Map(), status: "idle", activity: Date.now() };
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
      continuation_session_id: null, queue_length: 0, queue_held: null, agent: "demo", model: null, archived: false, shared: false, writable: true, usage: null,
    };
  }

  send(session, text) {
    const turn = this.#row(session, { role: "user", body: text, status: "pending" });
    if (session.title === "") session.title = [...text.replace(/\n/g, " ")].slice(0, 60).join("");
    const run = { id: `run_${hex(6)}`, session, turn, phase: "starting", since: Date.now(), seq: 0, frames: [], items: new Map(), lastNote: 0, cancelled: false, settled: false };
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
    for (const question of run.session.questions.values()) this.resolve(run.session, question.question_id, "cancelled");
    this.later(run.wedged ? 1_500 : 400, () => this.settle(run, "cancelled", null, run.wedged ? 3_000 : unwindMs));
  }

  settle(run, status, error = null, unwindMs = 20) {
    if (run.settled) return;
    const { session } = run;
    run.settled = true;
    run.status = status;
    run.turn.status = "completed";
    run.turn.content_revision += 1;
    const items = [...run.items.values()].sort((a, b) => a.first_seq - b.first_seq);
    if (items.length > 0) {
      const body = items.filter((item) => item.item_kind === "text").map((item) => item.text).join("");
      const parts = items.map((item) => (item.item_kind === "text" ? { ...item, text: undefined, chars: [...item.text].length } : item));
      this.#row(session, { role: "assistant", body, status, extra: { items: parts, run_id: run.id }, usage: { input: 120, output: body.length >> 2, cached: null, cost: null, context_used: null, context_max: null } });
    }
    if (status === "cancelled" || status === "interrupted") this.#row(session, { role: "system", body: null, extra: { marker: status } });
    run.seq += 1;
    session.revision += 1;
    if (error) this.errors.set(error.error_id, error);
    for (const question of session.questions.values()) this.resolve(session, question.question_id, "interrupted");
    this.toSession(session, "stream_terminal", { session_id: session.id, entity_id: run.id, stream_seq: run.seq, session_revision: session.revision, status, reason: null, complete: true, committed_in: null, returned_steers: [], usage: null, row: null, error });
    session.status = "stopping";
    session.run = null;
    if (unwindMs > 100) this.#pushItem(session);
    this.later(unwindMs, () => { session.status = "idle"; this.#pushItem(session); });
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
      agent: fields.role === "assistant" ? "demo" : null, model: null, usage: null, refs: [], extra: {}, ...fields,
    };
    session.rows.push(row);
    return row;
  }
}
