/**
 * Pending requests of one client (REQ-2 to REQ-5, REQ-12, REQ-14; state table 5.3). Pure: time in
 * milliseconds comes in, effects go out.
 *
 * Effects: `{kind: "send", message}`, `{kind: "unknown", id}` (the control leaves its pending
 * display) and, exactly once per request, `{kind: "settle", id, outcome, data}` with outcome done,
 * refused, failed, ended (no answer to a read) or unknown (no answer to a change, given up).
 */

export const REQUEST_TIMEOUT_MS = 4_000;
export const LOAD_TIMEOUT_MS = 15_000;
export const RUN_TIMEOUT_MS = 25_000;
export const PENDING_MAX = 128;
export const RESEND_MAX = 3;
export const ASK_AGAIN_MS = 250;
export const ASK_BUDGET_MS = 30_000;

/** Kind and reply types of every action this client sends (delivery section 2.5). */
export const ACTIONS = {
  hello: { kind: "read", replies: ["welcome"] },
  list_sessions: { kind: "read", replies: ["sessions_list"] },
  list_agents: { kind: "read", replies: ["agents_list"] },
  update_session: { kind: "change", replies: ["session_updated"] },
  delete_session: { kind: "change", replies: ["session_deleted"] },
  create_session: { kind: "change", replies: ["session_created"] },
  open_session: { kind: "load", replies: ["session_manifest", "session_resume"] },
  close_session: { kind: "read", replies: ["session_closed"] },
  load_history: { kind: "load", replies: ["history_page"] },
  get_stream: { kind: "load", replies: ["stream_state"] },
  send_message: { kind: "run", replies: ["message_ack"] },
  rewrite: { kind: "run", replies: ["message_ack", "session_updated"] },
  stop_run: { kind: "run", replies: ["stop_result"] },
  steer_run: { kind: "run", replies: ["steer_result"] },
  list_queue: { kind: "read", replies: ["queue_list"] },
  remove_queued: { kind: "change", replies: ["queue_removed"] },
  resume_queue: { kind: "change", replies: ["queue_resumed"] },
  list_questions: { kind: "read", replies: ["questions_list"] },
  answer_question: { kind: "run", replies: ["question_resolved"] },
  list_user_errors: { kind: "read", replies: ["user_errors_list"] },
  acknowledge_user_error: { kind: "change", replies: ["user_error_acknowledged"] },
  get_request_result: { kind: "read", replies: ["request_result"] },
};

const REFUSALS = ["message_refused", "answer_refused", "recovery_required"];
const TIMEOUTS = { read: REQUEST_TIMEOUT_MS, change: REQUEST_TIMEOUT_MS, load: LOAD_TIMEOUT_MS, run: RUN_TIMEOUT_MS };

export class Requests {
  #entries = new Map();
  #asks = new Map();
  #next = 0;
  #prefix;

  /** `prefix` makes the ids of this page unlike those of any other (REQ-9). */
  constructor(prefix) {
    this.#prefix = prefix;
  }

  /** Number of requests without an outcome. */
  get size() {
    return this.#entries.size;
  }

  /** Starts a request. Returns `{id, effects}`, or null while 128 are pending (REQ-14). */
  start(now, action, fields) {
    if (this.#entries.size >= PENDING_MAX) return null;
    const id = this.#newId();
    const { kind } = ACTIONS[action];
    const message = { action, request_id: id, ...fields };
    const entry = { id, action, kind, message, state: "pending", due: now + TIMEOUTS[kind], resends: 0, askUntil: null };
    this.#entries.set(id, entry);
    return { id, effects: [{ kind: "send", message }] };
  }

  /**
   * Takes a frame. Returns the effects, or null when it belongs to no pending request (REQ-2).
   */
  frame(now, frame) {
    const id = frame.data?.request_id ?? null;
    if (id === null) return null;
    if (this.#asks.has(id)) return this.#answered(now, id, frame);
    const entry = this.#entries.get(id);
    const outcome = entry && classify(entry.action, frame);
    return outcome ? this.#settle(entry, outcome, frame) : null;
  }

  /** The connection closed (RCN-7): reads end, changes become Unknown. */
  closed() {
    const effects = [];
    this.#asks.clear();
    for (const entry of [...this.#entries.values()]) {
      if (isRead(entry)) effects.push(...this.#settle(entry, "ended", null));
      else effects.push(...this.#unknown(entry));
    }
    return effects;
  }

  /** The connection is restored: outcomes of Unknown changes are asked for. */
  connected(now) {
    const effects = [];
    for (const entry of this.#entries.values()) {
      if (entry.state === "unknown") effects.push(...this.#ask(now, entry, now + ASK_BUDGET_MS));
    }
    return effects;
  }

  tick(now) {
    const effects = [];
    for (const entry of [...this.#entries.values()]) {
      if (entry.due === null || now < entry.due) continue;
      if (entry.state === "pending" && isRead(entry)) effects.push(...this.#settle(entry, "ended", null));
      else if (entry.state === "pending") effects.push(...this.#unknown(entry), ...this.#ask(now, entry, now + ASK_BUDGET_MS));
      else if (entry.state === "asking" && now >= entry.askUntil) effects.push(...this.#settle(entry, "unknown", null));
      else if (entry.state === "asking") effects.push(...this.#ask(now, entry, entry.askUntil));
    }
    return effects;
  }

  deadline() {
    let first = null;
    for (const { due } of this.#entries.values()) {
      if (due !== null && (first === null || due < first)) first = due;
    }
    return first;
  }

  #ask(now, entry, until) {
    for (const [ask, target] of this.#asks) if (target === entry.id) this.#asks.delete(ask);
    const ask = this.#newId();
    this.#asks.set(ask, entry.id);
    entry.state = "asking";
    entry.askUntil = until;
    entry.due = now + REQUEST_TIMEOUT_MS;
    return [{ kind: "send", message: { action: "get_request_result", request_id: ask, target_request_id: entry.id } }];
  }

  #answered(now, ask, frame) {
    const entry = this.#entries.get(this.#asks.get(ask));
    this.#asks.delete(ask);
    if (!entry || entry.state !== "asking") return [];
    const { state, reply, error } = frame.type === "request_result" ? frame.data : { state: "pending" };
    if (state === "failed") return this.#settle(entry, "failed", { type: "operation_error", data: error });
    if (state === "done") return this.#settle(entry, (reply && classify(entry.action, reply)) ?? "unknown", reply);
    if (state === "unknown") return this.#resend(now, entry);
    entry.due = now + ASK_AGAIN_MS;
    return [];
  }

  #resend(now, entry) {
    if (!entry.message.idempotency_key || entry.resends >= RESEND_MAX) return this.#settle(entry, "unknown", null);
    entry.resends += 1;
    entry.state = "pending";
    entry.due = now + TIMEOUTS[entry.kind];
    return [{ kind: "send", message: entry.message }];
  }

  #unknown(entry) {
    const first = entry.state !== "unknown";
    entry.state = "unknown";
    entry.due = null;
    return first ? [{ kind: "unknown", id: entry.id }] : [];
  }

  #settle(entry, outcome, frame) {
    this.#entries.delete(entry.id);
    for (const [ask, target] of this.#asks) if (target === entry.id) this.#asks.delete(ask);
    return [{ kind: "settle", id: entry.id, outcome, type: frame?.type ?? null, data: frame?.data ?? null }];
  }

  #newId() {
    this.#next += 1;
    return `${this.#prefix}-${this.#next}`;
  }
}

function classify(action, frame) {
  if (frame.type === "operation_error") return frame.data.action === action ? "failed" : null;
  if (REFUSALS.includes(frame.type)) return "refused";
  if (!ACTIONS[action].replies.includes(frame.type)) return null;
  return frame.data.outcome === "refused" ? "refused" : "done";
}

function isRead(entry) {
  return entry.kind === "read" || entry.kind === "load";
}
