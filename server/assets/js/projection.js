/**
 * What one client knows of one open session (state table 5.5 without deltas). Pure: replies and
 * pushes in, effects out, the view is read from the fields.
 *
 * Effects: those of history.js and queue.js, `{kind: "get_stream", entityId, knownSeq}`, `{kind: "reopen"}`,
 * `{kind: "stream_later", entityId, delayMs}` and `{kind: "ended", entityId, status}`.
 */

import { BACKOFF_BASE_MS, History } from "./history.js";
import { Queue } from "./queue.js";
import { Scene } from "./scene.js";
import { Steers } from "./steers.js";

/** Session status values in which the server admits a message (`may_start`). */
const STARTABLE = ["idle", "errored"];
/** Status values in which a message may wait its turn. */
const BUSY = ["running", "waiting", "stopping"];
/** Latched terminals remembered after their scene is gone. */
const LATCHED_MAX = 256;

export class Projection {
  #latched = new Map();

  constructor(sessionId) {
    this.sessionId = sessionId;
    this.generation = 0;
    this.opened = false;
    this.manifest = null;
    this.item = null;
    this.run = null;
    this.history = new History();
    this.scenes = new Map();
    this.questions = new Map();
    this.queue = new Queue();
    this.steers = new Steers();
    this.optimistic = [];
    this.submitting = false;
    this.streamAsked = new Set();
  }

  /** Raises the open generation for an `open_session` (SES-28). */
  nextGeneration() {
    this.generation += 1;
    this.opened = false;
    this.streamAsked.clear();
    this.history.disconnected();
    this.queue.disconnected();
    return this.generation;
  }

  /** Takes a manifest of the current generation. */
  open(manifest) {
    this.opened = true;
    this.manifest = manifest;
    this.history.revision = Math.min(this.history.revision, manifest.session_revision);
    this.#mergeQuestions(manifest.open_questions);
    const running = Object.keys(manifest.running);
    for (const scene of this.scenes.values()) {
      scene.awaiting = false;
      if (!running.includes(scene.entityId) && scene.terminal === null) this.#lost(scene, manifest);
    }
    if (this.run !== null && !running.includes(this.run.run_id) && this.item?.run?.run_id !== this.run.run_id) this.run = null;
    if (this.run === null && running.length > 0) this.#setRun(running[0], "running", null);
    const wanted = new Set(running);
    if (this.run !== null) wanted.add(this.run.run_id);
    const streams = [...wanted].flatMap((entityId) => this.#fetch(entityId));
    const { length, held } = manifest.queue ?? {};
    return [...this.history.invalidate(), ...streams, ...this.queue.update({ length, held, revision: manifest.session_revision })];
  }

  /** Takes a list entry or push of this session; older ones are ignored. */
  updateItem(item) {
    if (this.item !== null && item.session_revision < this.item.session_revision) return [];
    const reduced = this.item !== null && item.transcript_generation !== this.item.transcript_generation;
    this.item = item;
    if (item.run === null) this.run = null;
    else this.#setRun(item.run.run_id, item.run.phase, this.run?.since ?? null);
    if (!this.opened) return [];
    const queued = this.queue.update({ length: item.queue_length, held: item.queue_held, revision: item.session_revision });
    if (item.session_revision <= this.history.revision) return queued;
    // What was removed must not stay on screen, wherever the person reads.
    return [...queued, ...(reduced && this.history.detached ? this.history.reset() : this.history.invalidate())];
  }

  /** This window's choice of agent was taken; the list entry that says so may still be on its way. */
  chose(agent, model) {
    if (this.item !== null) this.item = { ...this.item, agent, model };
  }

  /** Takes a push that names this session. */
  frame(type, data) {
    if (!this.opened) return [];
    switch (type) {
      case "stream_text":
      case "stream_update":
      case "stream_note":
        return this.#numbered(type, data);
      case "steer_settled":
        return this.#steerSettled(data);
      case "stream_terminal":
        return this.#terminal(data.entity_id, data);
      case "run_status":
        this.#setRun(data.run_id, data.phase, data.since);
        return this.#meet(data.run_id);
      case "question_asked":
        this.#ask(data.question);
        return this.#meet(data.question.run_id);
      case "question_resolved":
        this.#resolve(data.question_id, data.outcome);
        return [];
      case "sync_required":
        return data.entity_id === null ? [{ kind: "reopen" }] : this.#fetch(data.entity_id);
      default:
        return [];
    }
  }

  /** Takes a `history_page`; settled scenes whose record it holds leave in the same update. */
  page(data) {
    const { reads } = this.history;
    const effects = this.history.page(data);
    for (const [entityId, scene] of this.scenes) {
      if (scene.bornAtRead < reads) scene.anchored = true;
      if (scene.terminal !== null && this.history.revision >= scene.terminal.session_revision) this.#drop(entityId);
    }
    const ids = new Set(data.rows.map((row) => row.message_id));
    this.optimistic = this.optimistic.filter((entry) => !this.#durable(entry, ids, data));
    return effects;
  }

  /** This window's answer was taken. */
  answered(questionId, answer, outcome) {
    const question = this.questions.get(questionId);
    if (question && outcome === "answered") question.answer = answer;
    this.#resolve(questionId, outcome);
  }

  /** A question turned out to be open no more, for a reason that was not told. */
  gone(questionId) {
    const question = this.questions.get(questionId);
    if (question?.outcome === null) question.outcome = "closed";
  }

  /** Questions that wait for an answer, in the order they were asked. */
  get openQuestions() {
    return [...this.questions.values()].filter((question) => question.outcome === null);
  }

  pageFailed(code) {
    return this.history.failed(code);
  }

  /** Takes a `stream_state`. */
  streamState(state) {
    this.streamAsked.delete(state.entity_id);
    if (this.#latched.has(state.entity_id)) return [];
    const scene = this.#scene(state.entity_id);
    scene.applyState(state);
    this.steers.state(state.entity_id, state.steers, scene.seq + 0.5);
    if (state.status !== "running") {
      return this.#terminal(state.entity_id, { status: state.status, session_revision: state.session_revision, error: null, reason: null });
    }
    if (state.phase) this.#setRun(state.entity_id, state.phase, this.run?.since ?? null);
    return [];
  }

  /**
   * The state of an entity could not be had. An entity the server does not know is not asked for
   * again; otherwise the next attempt waits.
   */
  streamFailed(entityId, code) {
    return code === "cursor_unavailable" ? [] : [{ kind: "stream_later", entityId, delayMs: BACKOFF_BASE_MS }];
  }

  /** The wait of `stream_later` is over. */
  streamRetry(entityId) {
    if (!this.streamAsked.delete(entityId)) return [];
    return this.#fetch(entityId);
  }

  /** A message of this window that the server has not confirmed yet. */
  submit(entry) {
    const known = new Set(this.history.rows.map((row) => row.message_id));
    this.optimistic.push({ ...entry, state: "sending", messageId: null, revision: null, known });
    this.submitting = true;
    return this.history.detached ? this.history.reset() : [];
  }

  /** The answer to a submit is overdue: its control is free again, its text stays on screen. */
  submitUnknown(localId) {
    this.submitting = false;
    const entry = this.optimistic.find((each) => each.localId === localId);
    if (entry) entry.state = "unknown";
  }

  acknowledged(localId, ack) {
    this.submitting = false;
    const entry = this.optimistic.find((each) => each.localId === localId);
    if (entry && ack.run_id === null) return this.#queuedInstead(entry, ack);
    if (entry) Object.assign(entry, { state: "acknowledged", messageId: ack.message_id, revision: ack.session_revision });
    if (ack.run_id !== null && !this.#latched.has(ack.run_id)) {
      this.#setRun(ack.run_id, this.run?.run_id === ack.run_id ? this.run.phase : "starting", ack.pending_started_at);
      this.#scene(ack.run_id).anchored = true;
    }
    const rows = this.history.rows;
    if (rows.some((row) => row.message_id === ack.message_id)) this.#forget(localId);
    return [];
  }

  /** A rewrite of this window began a turn (LIFE-05). */
  rewritten(ack) {
    this.#setRun(ack.run_id, this.run?.run_id === ack.run_id ? this.run.phase : "starting", ack.pending_started_at);
    const effects = this.#meet(ack.run_id);
    return effects.length > 0 ? effects : this.history.invalidate();
  }

  /** The submit had no effect; its text goes back to the composer (UIX-18). */
  refused(localId) {
    this.submitting = false;
    this.#forget(localId);
  }

  /** The server has a message that was meant for the queue: it waits, or it started at once. */
  enqueued(entry, ack) {
    if (ack.run_id === null) return this.queue.acknowledged(entry.localId, ack);
    this.queue.drop(entry.localId);
    const effects = this.submit(entry);
    return [...effects, ...this.acknowledged(entry.localId, ack)];
  }

  /** A steer of this window that the server has not confirmed yet. */
  steered(localId, runId, text) {
    this.steers.submit(localId, runId, text, (this.scenes.get(runId)?.seq ?? 0) + 0.5);
  }

  disconnected() {
    this.opened = false;
    this.history.disconnected();
    this.queue.disconnected();
    this.streamAsked.clear();
    for (const scene of this.scenes.values()) scene.awaiting = false;
  }

  /** Whether Stop is offered: the server names a run without a terminal (WEB-18, `may_stop`). */
  get mayStop() {
    return this.run !== null && !this.#latched.has(this.run.run_id);
  }

  /** What the server says of the session, by its newest list entry or its manifest. */
  get facts() {
    return this.item ?? this.manifest;
  }

  /** Whether a message may wait its turn, by the status the server gave. */
  get mayQueue() {
    return this.opened && !this.submitting && (this.mayStop || BUSY.includes(this.facts?.status));
  }

  /** Whether Send is offered, by the status the server gave (WEB-18). */
  get maySend() {
    const status = this.facts?.status ?? null;
    return status !== null && STARTABLE.includes(status) && !this.mayStop && !this.submitting;
  }

  #numbered(type, data) {
    if (this.#latched.has(data.entity_id)) return [];
    const effects = this.#meet(data.entity_id);
    if (this.#scene(data.entity_id).apply(type, data) === "gap") effects.push(...this.#fetch(data.entity_id));
    return effects;
  }

  #steerSettled(data) {
    if (this.#latched.has(data.entity_id)) return [];
    this.steers.settled(data.entity_id, data.steer_id, data.outcome, data.stream_seq ?? Number.MAX_SAFE_INTEGER);
    return this.#numbered("steer_settled", data);
  }

  #terminal(entityId, terminal) {
    if (this.#latched.has(entityId)) return [];
    this.steers.terminal(entityId, terminal.returned_steers);
    this.#latched.set(entityId, terminal.status);
    if (this.#latched.size > LATCHED_MAX) this.#latched.delete(this.#latched.keys().next().value);
    const scene = this.#scene(entityId);
    scene.settle(terminal);
    for (const question of this.questions.values()) {
      if (question.run_id === entityId && question.outcome === null) question.outcome = "interrupted";
    }
    const ended = { kind: "ended", entityId, status: terminal.status };
    if (this.history.revision >= terminal.session_revision && !this.history.detached) this.#drop(entityId);
    return [ended, ...this.history.invalidate()];
  }

  /** A reconnected session no longer runs an entity whose terminal was missed (ATT-22). */
  #lost(scene, manifest) {
    if (this.item?.run?.run_id === scene.entityId) return;
    this.#latched.set(scene.entityId, null);
    scene.settle({ status: null, session_revision: manifest.session_revision, error: null, reason: null });
  }

  #drop(entityId) {
    this.scenes.delete(entityId);
    this.steers.left(entityId);
    for (const [id, question] of this.questions) if (question.run_id === entityId) this.questions.delete(id);
  }

  #scene(entityId) {
    let scene = this.scenes.get(entityId);
    if (!scene) {
      scene = new Scene(this.sessionId, entityId);
      scene.anchored = false;
      scene.bornAtRead = this.history.reads;
      this.scenes.set(entityId, scene);
    }
    return scene;
  }

  /** Asks for the state of an entity, once per frame that calls for it (RCN-11). */
  #fetch(entityId) {
    if (this.streamAsked.has(entityId) || this.#latched.has(entityId)) return [];
    const scene = this.#scene(entityId);
    scene.awaiting = true;
    this.streamAsked.add(entityId);
    return [{ kind: "get_stream", entityId, knownSeq: scene.seq > 0 ? scene.seq : null }];
  }

  #setRun(runId, phase, since) {
    if (this.#latched.has(runId)) {
      if (this.run?.run_id === runId) this.run = null;
      return;
    }
    const same = this.run?.run_id === runId;
    this.run = { run_id: runId, phase, since: since ?? (same ? this.run.since : null) };
  }

  /** A run seen for the first time: its prompt is read before its scene may show (CTX-05). */
  #meet(entityId) {
    if (entityId === null || this.#latched.has(entityId) || this.scenes.has(entityId)) return [];
    this.#scene(entityId);
    return this.history.invalidate();
  }

  #ask(question) {
    if (this.questions.has(question.question_id)) return;
    const scene = this.scenes.get(question.run_id);
    this.questions.set(question.question_id, { ...question, outcome: null, order: (scene?.seq ?? 0) + 0.5 });
  }

  #resolve(questionId, outcome) {
    const question = this.questions.get(questionId);
    if (question) question.outcome = outcome;
  }

  #mergeQuestions(open) {
    const ids = new Set(open.map((question) => question.question_id));
    for (const [id, question] of this.questions) if (question.outcome === null && !ids.has(id)) this.questions.delete(id);
    for (const question of open) {
      if (this.questions.has(question.question_id)) continue;
      this.questions.set(question.question_id, { ...question, outcome: null, order: Number.MAX_SAFE_INTEGER });
    }
  }

  /** Others waited already, so the message went behind them. */
  #queuedInstead({ localId, text }, ack) {
    this.#forget(localId);
    this.queue.submit(localId, text);
    return this.queue.acknowledged(localId, ack);
  }

  #durable(entry, ids, data) {
    if (entry.messageId !== null) return ids.has(entry.messageId) || data.session_revision >= entry.revision;
    return data.rows.some((row) => row.role === "user" && row.body === entry.text && !entry.known.has(row.message_id));
  }

  #forget(localId) {
    this.optimistic = this.optimistic.filter((entry) => entry.localId !== localId);
  }
}
