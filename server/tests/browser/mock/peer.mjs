/** One connection of the mock: answers actions as section 2.5 of the delivery rules lists them. */

const PAGE_GROUPS = 50;

export class Peer {
  constructor(store, socket, build) {
    this.store = store;
    this.socket = socket;
    this.build = build;
    this.open = new Set();
    this.results = new Map();
    this.beat = setInterval(() => this.push("heartbeat", { server_time: Date.now() }), 5_000);
    socket.on("message", (data) => this.#receive(String(data)));
    socket.on("close", () => { clearInterval(this.beat); store.peers.delete(this); });
  }

  push(type, data) {
    if (this.socket.readyState === 1) this.socket.send(JSON.stringify({ type, data }));
  }

  #reply(action, type, data) {
    const frame = { type, data: { request_id: action.request_id ?? null, ...data } };
    this.store.results ??= new Map();
    if (action.request_id) this.store.results.set(action.request_id, { action: action.action, frame });
    this.push(type, frame.data);
  }

  #refuse(action, code, more = {}) {
    this.#reply(action, "message_refused", { action: action.action, session_id: action.session_id ?? null, code, run_id: null, phase: null, attachable: null, continuation_session_id: null, limit: null, retry_after_ms: null, ...more });
  }

  #receive(text) {
    const action = JSON.parse(text === "ping" ? '{"action":"ping"}' : text);
    const handler = HANDLERS[action.action];
    const session = this.store.sessions.get(action.session_id);
    if (!handler) return this.#failed(action, "unknown_action");
    if (action.session_id && !session) return this.#failed(action, "session_unknown", "warning");
    return handler.call(this, action, session, (type, data) => this.#reply(action, type, data), (code, more) => this.#refuse(action, code, more));
  }

  #failed(action, code, severity = "error") {
    const error = { ...this.store.error(null, code, "The action failed."), request_id: action.request_id ?? null, action: action.action, severity };
    if (severity === "error") this.store.errors.set(error.error_id, error);
    this.#reply(action, "operation_error", error);
  }
}

const HANDLERS = {
  hello(action, _, reply) {
    reply("welcome", { connection_id: "mock", protocol: 1, schema_version: 1, features: [], store_id: this.store.storeId, server_build: this.build, limits: { message_bytes_max: 262_144 } });
    if (action.client_build !== null && action.client_build !== this.build) this.push("reload_required", { server_build: this.build });
  },
  ping() {
    this.push("pong", {});
  },
  list_sessions(_, __, reply) {
    const sessions = [...this.store.sessions.values()].map((each) => this.store.item(each)).sort((a, b) => b.activity_at - a.activity_at);
    reply("sessions_list", { sessions, next_cursor: null });
  },
  create_session(action, _, reply, refuse) {
    const agent = this.store.agents.find((each) => each.agent === (action.agent ?? "demo"));
    if (!agent?.available) return refuse("backend_unavailable");
    const session = this.store.create(action.title ?? "", { agent: agent.agent, model: action.model });
    return reply("session_created", { session_id: session.id, session_revision: session.revision, agent: session.agent, model: session.model });
  },
  list_agents(_, __, reply) {
    reply("agents_list", { agents: this.store.agents });
  },
  update_session(action, session, reply, refuse) {
    if (!this.store.mayStart(session)) return refuse("session_busy", { run_id: session.run?.id ?? null, phase: session.run?.phase ?? null, attachable: true });
    const agent = this.store.agents.find((each) => each.agent === (action.agent ?? session.agent));
    if (!agent?.available) return refuse("backend_unavailable");
    session.model = action.model ?? (action.agent && action.agent !== session.agent ? agent.default_model : session.model);
    session.agent = agent.agent;
    this.store.commit(session);
    return reply("session_updated", { session_id: session.id, session_revision: session.revision });
  },
  list_queue(_, session, reply) {
    reply("queue_list", { session_id: session.id, session_revision: session.revision, held: session.held, entries: this.store.entries(session) });
  },
  remove_queued(action, session, reply, refuse) {
    const entry = this.store.removeQueued(session, action.message_id);
    if (entry === null) return refuse("gone");
    return reply("queue_removed", { session_id: session.id, message_id: entry.message_id, text: entry.text, session_revision: session.revision });
  },
  resume_queue(_, session, reply, refuse) {
    if (session.status !== "idle") return refuse("session_busy");
    this.store.resumeQueue(session);
    return reply("queue_resumed", { session_id: session.id, queue_length: session.queue.length, session_revision: session.revision });
  },
  steer_run(action, session, reply) {
    const run = session.runs.get(action.run_id);
    const agent = this.store.agents.find((each) => each.agent === session.agent);
    const reason = run?.phase !== "running" || run.settled ? "not_running" : !agent.capabilities.steer ? "unsupported" : run.steers.filter((each) => each.outcome === "accepted").length >= 16 ? "steer_full" : null;
    const id = reason === null ? this.store.steer(run, action.text) : null;
    reply("steer_result", { session_id: session.id, run_id: action.run_id, outcome: reason === null ? "accepted" : "refused", reason, limit: null, steer_id: id });
  },
  open_session(action, session, reply) {
    this.open.add(session.id);
    const running = session.run && session.run.phase !== "cancelling" ? { [session.run.id]: session.run.seq } : {};
    const errors = [...this.store.errors.values()].filter((each) => each.session_id === session.id).map((each) => each.error_id);
    reply("session_manifest", {
      session_id: session.id, generation: action.generation, title: session.title, status: session.status, head_id: null, session_revision: session.revision,
      graph_revision: 1, schema_version: 1, transcript_generation: 0, transcript_generation_baseline: 0, agent: session.agent, model: session.model, chain_tail: [], chain_length: 0,
      counts: {}, features: {}, running, queue: { length: session.queue.length, held: session.held }, continuation_session_id: null, open_error_ids: errors, open_error_total: errors.length,
      open_questions: [...session.questions.values()], recovery: null,
    });
  },
  close_session(action, session, reply) {
    this.open.delete(session.id);
    reply("session_closed", { session_id: session.id });
  },
  load_history(action, session, reply) {
    const starts = session.rows.flatMap((row, index) => (row.role === "user" ? [index] : []));
    const end = action.before ? starts.findIndex((at) => session.rows[at].message_id === action.before) : starts.length;
    const start = Math.max(0, end - PAGE_GROUPS);
    const rows = session.rows.slice(starts[start] ?? 0, action.before ? starts[end] : undefined);
    reply("history_page", {
      session_id: session.id, generation: action.generation, head_id: null, snapshot: `snap_${session.revision}`, session_revision: session.revision,
      rows: structuredClone(rows), start, end, total: starts.length, before: start > 0 ? session.rows[starts[start]].message_id : null, after: null,
    });
  },
  get_stream(action, session, reply) {
    const run = session.runs.get(action.entity_id);
    const deltas = action.known_seq !== null && action.known_seq !== undefined;
    reply("stream_state", {
      generation: action.generation, session_id: session.id, entity_id: run.id, status: run.settled ? run.status : "running", phase: run.phase,
      replay: { state: "complete", reason: null }, stream_seq: run.seq, session_revision: session.revision, from_seq: deltas ? action.known_seq : null,
      items: deltas ? null : [...run.items.values()].map((item) => ({ ...item })), deltas: deltas ? run.frames.filter((frame) => frame.stream_seq > action.known_seq) : null,
      steers: run.steers.map(({ steer_id, outcome }) => ({ steer_id, outcome })),
    });
  },
  send_message(action, session, reply, refuse) {
    const ack = { session_id: session.id, message_id: null, run_id: null, entity_id: null, queue_position: null, pending_started_at: null, agent: session.agent, model: session.model, session_revision: null };
    if (!this.store.mayStart(session)) {
      if (session.status !== "idle" && action.when_busy !== "queue") return refuse("session_busy", { run_id: session.run?.id ?? null, phase: session.run?.phase ?? null, attachable: true });
      const entry = this.store.enqueue(session, action.text);
      if (entry === null) return refuse("queue_full");
      return reply("message_ack", { ...ack, message_id: entry.message_id, queue_position: session.queue.length, session_revision: session.revision });
    }
    const run = this.store.send(session, action.text);
    return reply("message_ack", { ...ack, message_id: run.turn.message_id, run_id: run.id, entity_id: run.id, pending_started_at: run.since, session_revision: session.revision });
  },
  stop_run(action, session, reply) {
    const run = session.runs.get(action.run_id);
    const outcome = !run ? "unknown" : run.settled ? "already_ended" : "accepted";
    if (outcome === "accepted") this.store.stop(run, 20);
    reply("stop_result", { session_id: session.id, run_id: action.run_id, outcome, status: run?.settled ? run.status : null, code: null });
  },
  answer_question(action, session, reply) {
    const open = session.questions.has(action.question_id);
    if (!open) return reply("answer_refused", { session_id: session.id, question_id: action.question_id, code: "gone" });
    this.store.resolve(session, action.question_id, "answered", action.answer, this);
    return reply("question_resolved", { session_id: session.id, question_id: action.question_id, outcome: "answered", session_revision: session.revision });
  },
  list_questions(_, session, reply) {
    reply("questions_list", { session_id: session.id, questions: [...session.questions.values()] });
  },
  list_user_errors(_, __, reply) {
    reply("user_errors_list", { errors: [...this.store.errors.values()].reverse(), session_revisions: {}, next_cursor: null });
  },
  acknowledge_user_error(action, _, reply) {
    const error = this.store.errors.get(action.error_id);
    this.store.errors.delete(action.error_id);
    reply("user_error_acknowledged", { error_id: action.error_id });
    for (const peer of this.store.peers) peer.push("operation_recovered", { error_ids: [action.error_id], scope: "session", operation_id: null, occurred_at: new Date().toISOString() });
    const session = this.store.sessions.get(error?.session_id);
    if (session) this.store.commit(session);
  },
  get_request_result(action, _, reply) {
    const known = this.store.results?.get(action.target_request_id);
    reply("request_result", { target_request_id: action.target_request_id, state: known ? "done" : "unknown", action: known?.action ?? null, reply: known?.frame ?? null, omitted: false, error: null });
  },
};
