/**
 * The one store of error records of a client (UIX-3, UIX-5, UIX-7, UIX-11, UIX-14; state table
 * 5.13). Pure: cards, markers and toasts derive from it.
 */

export const TOAST_WINDOW_MS = 5_000;
const RECORDS_MAX = 1_000;

export class ErrorStore {
  #records = new Map();
  #toasted = new Map();

  constructor() {
    /** True when the list of the server could not be read; shown records may be incomplete. */
    this.degraded = false;
  }

  /**
   * Takes a record. Returns whether it is announced by a toast. `owned`: a pending request shows
   * it; `onScreen`: it is the failed run of the session on screen.
   */
  add(now, record, { owned = false, onScreen = false } = {}) {
    if (this.#records.has(record.error_id)) return false;
    this.#keep(record);
    if (owned || onScreen || !["error", "fatal"].includes(record.severity)) return false;
    const key = JSON.stringify([record.scope, record.code, record.session_id, record.operation_id]);
    const last = this.#toasted.get(key);
    if (last !== undefined && now - last < TOAST_WINDOW_MS) return false;
    if (this.#toasted.size >= RECORDS_MAX) this.#toasted.clear();
    this.#toasted.set(key, now);
    return true;
  }

  /** Takes the open records of the server; what is not among them is closed, except own ones. */
  replace(records) {
    const own = [...this.#records.values()].filter((record) => record.code === "connection_lost");
    this.#records.clear();
    for (const record of [...records].reverse()) this.#keep(record);
    for (const record of own) this.#keep(record);
    this.degraded = false;
  }

  has(errorId) {
    return this.#records.has(errorId);
  }

  /** Records closed in this or another window. */
  close(ids) {
    for (const id of ids) this.#records.delete(id);
  }

  /** Open records shown as cards in a session. */
  ofSession(sessionId) {
    return this.#cards().filter((record) => record.session_id === sessionId);
  }

  /** Open records that belong to no session. */
  general() {
    return this.#cards().filter((record) => record.session_id === null);
  }

  #cards() {
    return [...this.#records.values()].filter((record) => record.severity !== "info" && record.severity !== "warning");
  }

  #keep(record) {
    this.#records.set(record.error_id, record);
    if (this.#records.size > RECORDS_MAX) this.#records.delete(this.#records.keys().next().value);
  }
}
