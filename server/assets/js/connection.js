/**
 * The one connection of the page (RCN-13, ATT-20): it joins the socket with the pure machines for
 * reconnecting and requests, keeps time for them and hands frames on in order, at most one batch
 * per animation frame (WEB-11).
 */

import { Reconnect } from "./reconnect.js";
import { Requests } from "./requests.js";

const PING_MS = 30_000;
/** No frame and no heartbeat for this long: the observation counts as degraded (OBS-03). */
export const SILENCE_MS = 15_000;

export class Connection {
  #url;
  #handlers;
  #socket = null;
  #inbox = [];
  #drainScheduled = false;
  #settlers = new Map();
  #timer = null;
  #heardAt = 0;
  #pinged = 0;

  /**
   * `handlers`: `opened()`, `frame(frame, owned)`, `closed()`, `drained()`, `changed()`,
   * `connectionLost()`, `signedOut()` and `unreached()` (an attempt whose socket never opened).
   */
  constructor(url, handlers) {
    this.#url = url;
    this.#handlers = handlers;
    this.reconnect = new Reconnect();
    this.requests = new Requests(randomId());
    setInterval(() => this.#everySecond(), 1_000);
    document.addEventListener("visibilitychange", () => document.hidden || this.nudge());
    window.addEventListener("online", () => this.nudge());
  }

  start() {
    this.#perform(this.reconnect.start());
  }

  nudge() {
    this.#perform(this.reconnect.nudge());
  }

  /** The person asked for another attempt (RCN-2, RCN-8). */
  retry() {
    this.#perform(this.reconnect.state === "waiting" ? this.reconnect.nudge() : this.reconnect.start());
  }

  restored() {
    this.#perform(this.reconnect.restored(now()));
    this.#performRequests(this.requests.connected(now()));
  }

  /** Credentials were refused or given up: no attempt until they change. */
  signOut() {
    const effects = this.reconnect.unauthorized();
    this.#dropSocket();
    this.#perform(effects);
  }

  /** A fatal record: everything automatic ends (UIX-4). */
  stop() {
    this.reconnect.stop();
    this.#dropSocket();
    this.#handlers.changed();
  }

  /**
   * Sends an action. `settle({outcome, type, data})` is called exactly once; `unknown()` when the
   * outcome of a change is not known yet and its control leaves the pending display (UIX-10).
   */
  request(action, fields, settle, unknown = () => {}) {
    const started = this.requests.start(now(), action, fields);
    if (started === null) {
      settle({ outcome: "ended", type: null, data: null });
      return;
    }
    this.#settlers.set(started.id, { settle, unknown });
    this.#performRequests(started.effects);
    if (this.#socket?.readyState !== WebSocket.OPEN) this.#performRequests(this.requests.closed());
  }

  /** Whole seconds until the next attempt, or null. */
  get retryIn() {
    return this.reconnect.state === "waiting" ? Math.max(1, Math.ceil((this.reconnect.due - now()) / 1000)) : null;
  }

  /** connecting, connected, reconnecting, degraded, signed_out or stopped. */
  get condition() {
    const { state } = this.reconnect;
    if (state === "auth_wait") return "signed_out";
    if (state === "waiting" || state === "stopped") return state === "waiting" ? "reconnecting" : "stopped";
    if (state === "connected") return now() - this.#heardAt >= SILENCE_MS ? "degraded" : "connected";
    return this.reconnect.incident === null ? "connecting" : "reconnecting";
  }

  #open() {
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    this.#inbox = [];
    socket.onopen = () => {
      if (socket !== this.#socket) return;
      this.#heardAt = now();
      this.#pinged = now();
      this.reconnect.opened();
      this.#handlers.opened();
    };
    socket.onmessage = (event) => socket === this.#socket && this.#receive(event.data);
    socket.onclose = (event) => socket === this.#socket && this.#closed(event.code);
  }

  #receive(text) {
    this.#heardAt = now();
    this.#inbox.push(text);
    if (document.hidden) this.#drain();
    else if (!this.#drainScheduled) {
      this.#drainScheduled = true;
      requestAnimationFrame(() => this.#drain());
    }
  }

  /** All frames that arrived since the last animation frame, in order, in one update. */
  #drain() {
    this.#drainScheduled = false;
    const texts = this.#inbox;
    this.#inbox = [];
    for (const text of texts) {
      const frame = parse(text);
      if (frame === null) continue;
      const effects = this.requests.frame(now(), frame);
      this.#handlers.frame(frame, effects !== null);
      if (effects !== null) this.#performRequests(effects);
    }
    if (texts.length > 0) this.#handlers.drained();
    this.#schedule();
  }

  #closed(code) {
    this.#drain();
    this.#socket = null;
    this.#handlers.closed();
    if (this.reconnect.state === "connecting") this.#handlers.unreached();
    this.#perform(this.reconnect.closed(now(), code, Math.random()));
    this.#performRequests(this.requests.closed());
  }

  #dropSocket() {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.close(1000);
    this.#handlers.closed();
    this.#performRequests(this.requests.closed());
  }

  #perform(effects) {
    for (const { kind } of effects) {
      if (kind === "connect") this.#open();
      else if (kind === "record_connection_lost") this.#handlers.connectionLost();
      else if (kind === "notice_auth") this.#handlers.signedOut();
    }
    this.#schedule();
    this.#handlers.changed();
  }

  #performRequests(effects) {
    for (const effect of effects) {
      if (effect.kind === "send") this.#transmit(effect.message);
      else if (effect.kind === "unknown") {
        this.#perform(this.reconnect.changeUnknown());
        this.#settlers.get(effect.id)?.unknown();
      } else {
        const settler = this.#settlers.get(effect.id);
        this.#settlers.delete(effect.id);
        settler?.settle({ outcome: effect.outcome, type: effect.type, data: effect.data });
      }
    }
    this.#schedule();
    this.#handlers.changed();
  }

  #transmit(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #schedule() {
    clearTimeout(this.#timer);
    const deadlines = [this.reconnect.deadline(), this.requests.deadline()].filter((at) => at !== null);
    if (deadlines.length === 0) return;
    const wait = Math.max(0, Math.min(...deadlines) - now());
    this.#timer = setTimeout(() => {
      this.#performRequests(this.requests.tick(now()));
      this.#perform(this.reconnect.tick(now()));
    }, wait + 1);
  }

  #everySecond() {
    if (this.#socket?.readyState === WebSocket.OPEN && now() - this.#pinged >= PING_MS) {
      this.#pinged = now();
      this.#transmit({ action: "ping" });
    }
    this.#handlers.changed();
  }
}

/** A random id for requests and idempotency keys. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function now() {
  return performance.now();
}

function parse(text) {
  try {
    const frame = JSON.parse(text);
    return typeof frame?.type === "string" && typeof frame.data === "object" ? frame : null;
  } catch {
    return null;
  }
}
