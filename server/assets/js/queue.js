/**
 * The messages that wait in one session, and whether they are held (STR-09, STR-20, STR-21; state
 * table 5.10 of run-state.md). Pure: without deltas a client learns of a change by the revision of
 * the session, and reads the list again.
 *
 * Effects: `{kind: "list_queue"}` and `{kind: "queue_later", delayMs}` after a failed read.
 */

import { backoff } from "./history.js";

export class Queue {
  #reading = false;
  #dirty = false;
  #failures = 0;

  constructor() {
    /** Waiting messages as the server lists them, first to start first. */
    this.entries = [];
    /** Why nothing starts, or null. */
    this.held = null;
    this.revision = -1;
    /** Messages of this window on their way into the queue. */
    this.sending = [];
    /** Raised by every change. */
    this.version = 0;
  }

  /** Whether a message would be put behind others. */
  get waits() {
    return this.entries.length + this.sending.length > 0;
  }

  /** Takes what a manifest or a list entry says of the queue. */
  update({ length, held, revision }) {
    if (revision < this.revision) return [];
    this.held = held ?? null;
    this.version += 1;
    const empty = (length ?? 0) === 0;
    if (empty) this.#take([], revision);
    return empty || revision === this.revision ? [] : this.#read();
  }

  /** Takes a `queue_list`. */
  page(data) {
    this.#reading = false;
    this.#failures = 0;
    if (data.session_revision >= this.revision) {
      this.held = data.held;
      this.#take(data.entries, data.session_revision);
    }
    return this.#again();
  }

  /** The list could not be read. */
  failed() {
    this.#reading = false;
    this.#dirty = false;
    this.#failures += 1;
    return [{ kind: "queue_later", delayMs: backoff(this.#failures - 1) }];
  }

  /** The wait of `queue_later` is over. */
  retry() {
    return this.#read();
  }

  /** A message of this window that the server has not confirmed yet. */
  submit(localId, text) {
    this.sending.push({ localId, text, state: "sending", messageId: null, revision: null });
    this.version += 1;
  }

  /** The server keeps the message: its place shows with the next list. */
  acknowledged(localId, ack) {
    const entry = this.sending.find((each) => each.localId === localId);
    if (!entry) return [];
    Object.assign(entry, { state: "queued", messageId: ack.message_id, revision: ack.session_revision });
    this.#settle();
    return this.revision >= ack.session_revision ? [] : this.#read();
  }

  /** The answer is overdue. */
  unknown(localId) {
    const entry = this.sending.find((each) => each.localId === localId);
    if (entry) entry.state = "unknown";
    this.version += 1;
  }

  /** The message is not in the queue: it was refused, or started at once. */
  drop(localId) {
    this.sending = this.sending.filter((each) => each.localId !== localId);
    this.version += 1;
  }

  /** A message left at this window's wish. */
  removed(data) {
    this.entries = this.entries.filter((entry) => entry.message_id !== data.message_id);
    if (this.entries.length === 0) this.held = null;
    this.version += 1;
  }

  /** The hold ended at this window's wish. */
  resumed() {
    this.held = null;
    this.version += 1;
  }

  /** A closed connection ends every read; the next open reads again. */
  disconnected() {
    this.#reading = false;
    this.#dirty = false;
    this.revision = -1;
  }

  #read() {
    if (this.#reading) {
      this.#dirty = true;
      return [];
    }
    this.#reading = true;
    return [{ kind: "list_queue" }];
  }

  #again() {
    if (!this.#dirty) return [];
    this.#dirty = false;
    return this.#read();
  }

  #take(entries, revision) {
    this.entries = entries;
    this.revision = revision;
    this.version += 1;
    this.#settle();
  }

  /** What the list is as new as, it holds or has let go. */
  #settle() {
    this.sending = this.sending.filter((each) => each.revision === null || each.revision > this.revision);
    this.version += 1;
  }
}
