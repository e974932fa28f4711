/**
 * The page's controller: routes frames to the stores, restores after a connection (RCN-5) and
 * offers the actions of the surfaces. It draws nothing.
 */

import { Connection, randomId } from "./connection.js";
import { AgentList } from "./agents.js";
import { textOfOutcome } from "./codes.js";
import { Agents } from "./control/agents.js";
import { ErrorCards } from "./control/errors.js";
import { Lifecycle } from "./control/lifecycle.js";
import { Messages } from "./control/messages.js";
import { Questions } from "./control/questions.js";
import { QueueControl } from "./control/queue.js";
import { Rewrites } from "./control/rewrites.js";
import { Drafts } from "./drafts.js";
import { DEMO_EXAMPLES } from "./examples.js";
import { ErrorStore } from "./errors.js";
import { pageBuild, placeSession, placedSession, socketUrl, urlOf } from "./place.js";
import { Projection } from "./projection.js";
import { SessionList } from "./sessions.js";

const PROTOCOL = 1;
const LIST_PAGE = 100;

export class App {
  #changed;
  #questions;
  #errorCards;
  #lifecycle;
  #messages;
  #agentControl;
  #clockOffset = 0;
  #restoring = 0;

  /** `changed` asks for a redraw; `toast(record)` and `say(text)` announce. */
  constructor({ changed, toast, say }) {
    this.#changed = changed;
    this.toast = toast;
    this.say = say;
    this.sessions = new SessionList();
    this.errors = new ErrorStore();
    this.drafts = new Drafts();
    this.agents = new AgentList();
    this.projection = null;
    this.limits = {};
    this.serverState = "open";
    this.reloadRequired = false;
    this.fatal = null;
    this.background = 0;
    /** Notices at controls: `composer`, `stop`, `session`, `queue`, `agent`, `signin`, and one per question and error. */
    this.notices = new Map();
    this.pending = new Set();
    this.connection = new Connection(socketUrl(), {
      opened: () => this.#opened(),
      frame: (frame, owned) => this.#frame(frame, owned),
      closed: () => this.projection?.disconnected(),
      drained: () => this.#changed(),
      changed: () => this.#changed(),
      connectionLost: () => this.#connectionLost(),
      signedOut: () => this.#forget(),
      unreached: () => this.#probe(),
    });
    const host = {
      connection: this.connection, pending: this.pending, changed, current: () => this.projection,
      notice: (control, text) => this.#notice(control, text),
      perform: (projection, effects) => this.#perform(projection, effects),
      limits: () => this.limits, drafts: this.drafts, agents: () => this.agents,
      choose: (sessionId) => this.choose(sessionId), live: () => this.#live(),
      removed: (sessionId, text) => this.#removed(sessionId, text),
    };
    this.#messages = new Messages(host);
    this.#lifecycle = new Lifecycle(host);
    this.#agentControl = new Agents(host, () => this.agents);
    this.queueControl = new QueueControl(host, this.drafts);
    this.rewrites = new Rewrites(host);
    this.#questions = new Questions(host);
    this.#errorCards = new ErrorCards(host, () => this.errors);
  }

  /** Signs in with the token of the address, if there is one, and connects. */
  async begin(token) {
    if (token !== null) await this.#login(token);
    this.connection.start();
  }

  /** Signs in with a token typed by the person. */
  async signIn(token) {
    this.pending.add("signin");
    this.#notice("signin", null);
    const accepted = await this.#login(token);
    this.pending.delete("signin");
    if (accepted) this.connection.start();
    this.#changed();
  }

  async signOut() {
    try {
      await fetch(urlOf("v1/logout"), { method: "POST" });
    } catch {
      // The connection state tells that the server cannot be reached.
    }
    this.drafts.clear();
    this.connection.signOut();
  }

  /** Opens a session of the list; `null` shows the start of a new one. */
  choose(sessionId, push = true) {
    if (this.projection?.sessionId === sessionId) {
      if (this.projection !== null && !this.projection.opened && this.#live()) this.#open(this.projection);
      return;
    }
    if (this.projection !== null) this.connection.request("close_session", { session_id: this.projection.sessionId }, () => {});
    this.projection = sessionId === null ? null : new Projection(sessionId);
    for (const control of ["composer", "stop", "session", "queue", "agent"]) this.notices.delete(control);
    this.background = 0;
    placeSession(sessionId, push);
    if (this.projection === null && this.#live()) this.#agentControl.read();
    if (this.projection !== null) {
      const item = this.sessions.get(sessionId);
      if (item !== null) this.projection.updateItem(item);
      if (this.#live()) this.#open(this.projection);
    }
    this.#changed();
  }

  /** Sends the text of the composer: it starts a run, creating a session where none is chosen, or waits its turn. */
  send(text) {
    return this.#messages.send(text);
  }

  /** Steers the run on screen with the text of the composer. */
  steer(text) {
    return this.#messages.steer(text);
  }

  /** A person dealt with a steer that came back. */
  dismissSteer(steer) {
    this.projection?.steers.drop(steer.key);
    this.#changed();
  }

  /** Chooses the agent of the session on screen, or of the next one. */
  chooseAgent(agent, model) {
    this.#agentControl.choose(agent, model);
  }

  /** Stops the run of the session the person chose (STOP-19). */
  stop() {
    const { projection } = this;
    if (!projection?.mayStop || this.pending.has("stop")) return;
    this.pending.add("stop");
    this.#notice("stop", null);
    const fields = { session_id: projection.sessionId, run_id: projection.run.run_id };
    this.connection.request("stop_run", fields, (result) => {
      this.pending.delete("stop");
      if (projection === this.projection) this.#stopAnswered(projection, fields.run_id, result);
      this.#changed();
    }, () => this.pending.delete("stop"));
    this.#changed();
  }

  /** Deletes a session; the page has asked the person before. */
  deleteSession(sessionId) {
    this.#lifecycle.remove(sessionId);
  }

  /** Gives a session another title. */
  renameSession(sessionId, title) {
    this.#lifecycle.rename(sessionId, title);
  }

  /** Puts a session into the archive, or takes it out. */
  archiveSession(sessionId, archived) {
    this.#lifecycle.archive(sessionId, archived);
  }

  /** Lists the archive, or the sessions outside it. */
  showArchive(shown) {
    this.sessions.view(shown);
    if (this.#live()) this.#listSessions(null, () => {});
    this.#changed();
  }

  /** Answers a question of the session on screen. */
  answer(question, answer) {
    this.#questions.answer(question, answer);
  }

  /** Marks an error record as seen. */
  acknowledge(record) {
    this.#errorCards.acknowledge(record);
  }

  /** The time of the server, as far as its last heartbeat tells. */
  serverNow() {
    return Date.now() + this.#clockOffset;
  }

  loadEarlier() {
    if (this.projection !== null) this.#perform(this.projection, this.projection.history.loadEarlier());
    this.#changed();
  }

  jumpToLatest() {
    if (this.projection?.history.detached) this.#perform(this.projection, this.projection.history.reset());
    this.#changed();
  }

  loadMoreSessions() {
    this.#listSessions(this.sessions.cursor, () => {});
  }

  /** Whether actions reach the server now. */
  get connected() {
    return this.#live();
  }

  /** What Send does now: `start`, `queue` or nothing (null). */
  get sendMode() {
    return this.#messages.mode;
  }

  /** Whether the run on screen takes a steer. */
  get maySteer() {
    return this.#messages.maySteer;
  }

  /** Whether a session is being made for the first message. */
  get creating() {
    return this.#messages.creating;
  }

  /** Agent and model of the session on screen, or of the next one. */
  get agentInUse() {
    const facts = this.projection?.facts;
    return this.projection === null ? this.agents.next : { agent: facts?.agent ?? null, model: facts?.model ?? null };
  }

  /** Prompts to try, where the demo agent answers. */
  get examples() {
    return this.agentInUse.agent === "demo" ? DEMO_EXAMPLES : [];
  }

  notice(control) {
    return this.notices.get(control) ?? null;
  }

  dismiss(control) {
    if (this.notices.delete(control)) this.#changed();
  }

  /** The session on screen was seen: the mark in the title goes (UIX-19). */
  seen() {
    this.background = 0;
    this.#changed();
  }

  #live() {
    return ["restoring", "connected"].includes(this.connection.reconnect.state);
  }

  async #login(token) {
    try {
      const answer = await fetch(urlOf("v1/login"), {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }),
      });
      if (answer.ok) return true;
      this.#notice("signin", answer.status === 429
        ? "Too many attempts from this address. Wait a minute, then try again."
        : "The server does not accept this token. Use the one it printed at start.");
    } catch {
      this.#notice("signin", "The server cannot be reached.");
    }
    return false;
  }

  /** Whoever signs in next may be someone else: nothing read so far stays. */
  #forget() {
    this.projection = null;
    this.sessions = new SessionList();
    this.errors = new ErrorStore();
    this.agents = new AgentList();
    this.#changed();
  }

  /** A socket that never opened hides its status: the address itself tells whether it was refused. */
  async #probe() {
    try {
      const { status } = await fetch(urlOf("v1/ws"), { cache: "no-store" });
      if (status === 401 || status === 403) this.connection.signOut();
    } catch {
      // The server cannot be reached; the next attempt follows by itself.
    }
  }

  #opened() {
    const fields = { protocol_min: PROTOCOL, protocol_max: PROTOCOL, features: [], client_build: pageBuild() };
    this.connection.request("hello", fields, ({ outcome, data }) => {
      if (data?.code === "protocol_unsupported") this.reloadRequired = true;
      if (outcome !== "done") return;
      this.limits = data.limits;
      this.serverState = "open";
    });
    this.#restore();
  }

  /** Errors, list and session in this order; each step counts, also one that failed (RCN-5). */
  #restore() {
    this.#restoring = 3;
    const step = () => {
      this.#restoring -= 1;
      if (this.#restoring === 0) this.connection.restored();
    };
    if (this.connection.reconnect.sessionsFirst) {
      this.errors.degraded = true;
      step();
    } else {
      this.#listErrors(step);
    }
    if (this.projection === null && placedSession() !== null) this.projection = new Projection(placedSession());
    const chosen = this.projection;
    this.#listSessions(null, () => {
      if (chosen === null && this.projection === null) this.#chooseFirst();
      step();
    });
    if (chosen === null) step();
    else this.#open(chosen, step);
    this.#agentControl.read();
  }

  #chooseFirst() {
    const [first] = this.sessions.items;
    if (first) this.choose(first.session_id, false);
  }

  #open(projection, done = () => {}) {
    const fields = { session_id: projection.sessionId, generation: projection.nextGeneration() };
    this.connection.request("open_session", fields, ({ outcome, data }) => {
      if (projection === this.projection && outcome === "done" && data.generation === projection.generation) {
        placeSession(projection.sessionId, false);
        this.#perform(projection, projection.open(data));
        this.#checkErrors(data.open_error_ids);
      } else if (projection === this.projection && outcome !== "done") {
        this.#notOpened(projection, { outcome, data });
      }
      done();
      this.#changed();
    });
  }

  #notOpened(projection, result) {
    if (result.data?.code === "session_unknown") {
      this.sessions.remove(projection.sessionId);
      this.projection = null;
      placeSession(null, false);
      this.#notice("session", "The session in the address no longer exists.");
    } else if (result.outcome !== "ended") {
      this.#notice("session", textOfOutcome(result));
    }
  }

  #listErrors(done) {
    this.connection.request("list_user_errors", {}, ({ outcome, data }) => {
      if (outcome === "done") this.errors.replace(data.errors);
      else this.errors.degraded = true;
      done();
      this.#changed();
    });
  }

  /** A session names open records this page has not seen. */
  #checkErrors(ids) {
    if (ids.some((id) => !this.errors.has(id))) this.#listErrors(() => {});
  }

  #listSessions(cursor, done) {
    const fields = { query: null, archived: this.sessions.archive || null, cursor, limit: LIST_PAGE };
    this.connection.request("list_sessions", fields, ({ outcome, data }) => {
      if (fields.archived !== (this.sessions.archive || null)) return done();
      if (outcome === "done") {
        this.sessions.page(data, cursor === null);
        for (const item of data.sessions) this.#updateOpen(item);
      } else {
        this.sessions.degraded = true;
      }
      done();
      this.#changed();
    });
  }

  #updateOpen(item) {
    const { projection } = this;
    if (projection?.sessionId === item.session_id) this.#perform(projection, projection.updateItem(item));
  }

  #stopAnswered(projection, runId, result) {
    if (result.outcome === "done") return;
    const running = projection.mayStop && projection.run.run_id === runId;
    if (running) this.#notice("stop", `Not stopped: ${textOfOutcome(result)}`);
  }

  #frame({ type, data }, owned) {
    if (type === "operation_error" || type === "action_error") this.#errorFrame(data, owned);
    else if (type === "session_item") this.#sessionItem(data);
    else if (type === "session_deleted" && !owned) this.#removed(data.session_id, "This session was deleted.");
    else if (type === "operation_recovered") this.errors.close(data.error_ids);
    else if (type === "reload_required") this.reloadRequired = true;
    else if (type === "status") this.serverState = data.state;
    else if (type === "heartbeat") this.#clockOffset = data.server_time - Date.now();
    else if (type === "recovery_required" && !owned) this.#reopen();
    else if (data.session_id && data.session_id === this.projection?.sessionId && !owned) this.#push(type, data);
  }

  #push(type, data) {
    if (type === "stream_terminal" && data.error) this.errors.add(performance.now(), data.error, { onScreen: true });
    if (type === "question_asked") this.say(`The agent asks: ${data.question.prompt}`);
    this.#perform(this.projection, this.projection.frame(type, data));
  }

  #reopen() {
    if (this.projection !== null) this.#open(this.projection);
    this.#listErrors(() => {});
  }

  #errorFrame(record, owned) {
    if (!["error", "fatal"].includes(record.severity)) return;
    if (this.errors.add(performance.now(), record, { owned })) this.toast(record);
    if (record.severity !== "fatal") return;
    this.fatal = record;
    this.connection.stop();
  }

  #sessionItem(data) {
    if (data.removed) {
      this.#removed(data.session_id, "You can no longer read this session.");
      return;
    }
    if (this.sessions.isGone(data.session_id)) return;
    const old = this.sessions.put(data.item);
    const shown = this.projection?.sessionId === data.session_id && !document.hidden;
    if (old?.run && !data.item.run && !shown) this.background += 1;
    this.#updateOpen(data.item);
  }

  /** A session is gone; where it was on screen, `text` says what happened. Its draft goes to the next session. */
  #removed(sessionId, text) {
    this.sessions.remove(sessionId);
    if (this.projection?.sessionId !== sessionId) return;
    const draft = this.drafts.get(sessionId);
    if (draft !== "") this.drafts.giveBack(null, draft);
    this.drafts.set(sessionId, "");
    this.projection = null;
    for (const control of ["composer", "stop", "queue", "agent"]) this.notices.delete(control);
    placeSession(null, false);
    this.#agentControl.read();
    this.#notice("session", text);
  }

  /** Carries out what a projection asked for. */
  #perform(projection, effects) {
    for (const effect of effects) {
      if (effect.kind === "load_latest") this.#loadHistory(projection, { latest: true });
      else if (effect.kind === "load_before") this.#loadHistory(projection, { before: effect.before, snapshot: effect.snapshot });
      else if (effect.kind === "get_stream") this.#getStream(projection, effect);
      else if (effect.kind === "reopen") this.#open(projection);
      else if (effect.kind === "ended") this.#runEnded(effect);
      else if (effect.kind === "list_queue") this.queueControl.read(projection);
      else this.#later(projection, effect);
    }
  }

  /** Repeats a read that failed, if it still concerns what is open then. */
  #later(projection, { kind, entityId, delayMs }) {
    const { generation } = projection;
    setTimeout(() => {
      if (projection !== this.projection || generation !== projection.generation || !projection.opened) return;
      if (kind === "read_later") this.#perform(projection, projection.history.invalidate());
      else if (kind === "queue_later") this.#perform(projection, projection.queue.retry());
      else this.#perform(projection, projection.streamRetry(entityId));
    }, delayMs);
  }

  #runEnded({ status }) {
    this.pending.delete("stop");
    this.notices.delete("stop");
    this.#agentControl.read();
    this.say(ENDINGS[status] ?? "The run ended.");
  }

  #loadHistory(projection, selector) {
    const { generation } = projection;
    const fields = { session_id: projection.sessionId, generation, ...selector };
    this.connection.request("load_history", fields, ({ outcome, data }) => {
      if (projection !== this.projection || generation !== projection.generation) return;
      if (outcome === "done") this.#perform(projection, projection.page(data));
      else this.#perform(projection, projection.pageFailed(data?.code ?? null));
    });
  }

  #getStream(projection, { entityId, knownSeq }) {
    const { generation } = projection;
    const fields = { session_id: projection.sessionId, entity_id: entityId, generation, known_seq: knownSeq };
    this.connection.request("get_stream", fields, ({ outcome, data }) => {
      if (projection !== this.projection || generation !== projection.generation) return;
      if (outcome === "done") this.#perform(projection, projection.streamState(data));
      else this.#perform(projection, projection.streamFailed(entityId, data?.code ?? null));
    });
  }

  #connectionLost() {
    this.errors.add(performance.now(), {
      error_id: `local_${randomId()}`, request_id: null, scope: "transport", code: "connection_lost", message: "",
      action: null, session_id: null, operation_id: null, retryable: true, severity: "error",
      correlation_id: "", occurred_at: new Date().toISOString(),
    }, { owned: true });
  }

  #notice(control, text) {
    if (text === null) this.notices.delete(control);
    else this.notices.set(control, text);
    this.#changed();
  }
}

const ENDINGS = {
  completed: "The agent finished.",
  cancelled: "The run was stopped.",
  failed: "The run failed.",
  interrupted: "The run was interrupted.",
};
