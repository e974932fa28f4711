/**
 * Reconnection of one client (RCN-1 to RCN-4, RCN-8, UIX-13; state table 5.9). Pure: time in
 * milliseconds and randomness in [0, 1) come in, effects go out.
 */

export const RECONNECT_BASE_MS = 500;
export const RECONNECT_CAP_MS = 30_000;
export const RECONNECT_STABLE_MS = 10_000;
export const RECOVERY_BUDGET_MS = 60_000;

const CLOSE_NORMAL = 1000;
const CLOSE_PROTOCOL = 1002;
const CLOSE_UNAUTHORIZED = 1008;
const CLOSE_INTERNAL = 1011;

/** Longest wait before attempt `attempt`, counted from 0 (RCN-1). */
export function reconnectDelayMax(attempt) {
  return Math.min(RECONNECT_CAP_MS, RECONNECT_BASE_MS * 2 ** Math.min(attempt, 16));
}

/**
 * States: idle, waiting, connecting, restoring, connected, auth_wait, stopped.
 * Effects: connect, notice_auth, incident_started, incident_ended, record_connection_lost.
 */
export class Reconnect {
  constructor() {
    this.state = "idle";
    this.attempt = 0;
    this.due = null;
    this.connectedSince = null;
    this.incident = null;
    this.serverErrorCloses = 0;
  }

  /** The first attempt, an explicit retry after a stop, or new credentials. */
  start() {
    if (!["idle", "auth_wait", "stopped"].includes(this.state)) return [];
    this.attempt = 0;
    return this.#connect();
  }

  /** The page became visible, the network came back, or the person asked (RCN-2). */
  nudge() {
    return this.state === "waiting" ? this.#connect() : [];
  }

  /** The transport is open; restoring begins. */
  opened() {
    if (this.state === "connecting") this.state = "restoring";
    return [];
  }

  /** Every step of restoring was answered or failed (RCN-5). */
  restored(now) {
    if (this.state !== "restoring") return [];
    this.state = "connected";
    this.connectedSince = now;
    const ended = this.incident !== null;
    this.incident = null;
    return ended ? [{ kind: "incident_ended" }] : [];
  }

  /** The connection closed, or the attempt failed. */
  closed(now, code, random) {
    if (["idle", "waiting", "auth_wait", "stopped"].includes(this.state)) return [];
    const stable =
      this.state === "connected" && now - this.connectedSince >= RECONNECT_STABLE_MS;
    this.connectedSince = null;
    this.serverErrorCloses = code === CLOSE_INTERNAL ? this.serverErrorCloses + 1 : 0;
    if (code === CLOSE_UNAUTHORIZED) return this.#halt("auth_wait", [{ kind: "notice_auth" }]);
    if (code === CLOSE_PROTOCOL || code === CLOSE_NORMAL) return this.#halt("stopped", []);
    this.attempt = stable ? 0 : this.attempt + 1;
    this.state = "waiting";
    this.due = now + random * reconnectDelayMax(this.attempt);
    if (this.incident !== null) return [];
    this.incident = { since: now, recorded: false };
    return [{ kind: "incident_started" }];
  }

  /** Credentials were refused where the status can be seen, or the person signed out (RCN-8). */
  unauthorized() {
    if (this.state === "auth_wait") return [];
    return this.#halt("auth_wait", [{ kind: "notice_auth" }]);
  }

  /** A fatal record arrived: no automatic attempt any more (UIX-4). */
  stop() {
    return this.#halt("stopped", []);
  }

  /** A change became Unknown: the incident gets its one record now (UIX-13). */
  changeUnknown() {
    return this.#record();
  }

  tick(now) {
    const effects = [];
    if (this.incident !== null && now >= this.incident.since + RECOVERY_BUDGET_MS) {
      effects.push(...this.#record());
    }
    if (this.state === "waiting" && now >= this.due) effects.push(...this.#connect());
    return effects;
  }

  /** When `tick` has something to do, or null. */
  deadline() {
    const times = [];
    if (this.state === "waiting") times.push(this.due);
    if (this.incident !== null && !this.incident.recorded) {
      times.push(this.incident.since + RECOVERY_BUDGET_MS);
    }
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Whether sessions are restored before the error list (RCN-12). */
  get sessionsFirst() {
    return this.serverErrorCloses >= 2;
  }

  #connect() {
    this.state = "connecting";
    this.due = null;
    return [{ kind: "connect" }];
  }

  #halt(state, effects) {
    this.state = state;
    this.due = null;
    this.incident = null;
    this.connectedSince = null;
    return effects;
  }

  #record() {
    if (this.incident === null || this.incident.recorded) return [];
    this.incident.recorded = true;
    return [{ kind: "record_connection_lost" }];
  }
}
