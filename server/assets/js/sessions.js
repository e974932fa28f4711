/** The session list of a client, newest activity first (LIST-1, LIST-2, OBS-06). Pure. */

/** Ids of removed sessions that are remembered. */
export const GONE_MAX = 256;

export class SessionList {
  #items = new Map();
  #gone = new Set();

  constructor() {
    this.loaded = false;
    this.degraded = false;
    this.cursor = null;
    /** Whether the archive is shown, and not the sessions outside it. */
    this.archive = false;
  }

  get items() {
    return [...this.#items.values()].filter((item) => this.#isShown(item)).sort(newestFirst);
  }

  /** Shows the archive, or the sessions outside it; its first page is still to come. */
  view(archive) {
    this.archive = archive;
    this.loaded = false;
    this.cursor = null;
  }

  get(sessionId) {
    return this.#items.get(sessionId) ?? null;
  }

  /** Takes a page of the list; the first page replaces what is known. */
  page(data, first) {
    if (first) {
      const ids = new Set(data.sessions.map((item) => item.session_id));
      for (const item of this.#items.values()) if (this.#isShown(item) && !ids.has(item.session_id)) this.#items.delete(item.session_id);
    }
    for (const item of data.sessions) this.put(item);
    this.loaded = true;
    this.degraded = false;
    this.cursor = data.next_cursor;
  }

  /** Takes one item; an older revision of a known one is ignored. Returns what was known before. */
  put(item) {
    const old = this.get(item.session_id);
    if (this.#gone.has(item.session_id)) return old;
    if (old === null || item.session_revision >= old.session_revision) this.#items.set(item.session_id, item);
    return old;
  }

  /** An entry that was on its way when its session was deleted brings nothing back. */
  remove(sessionId) {
    this.#items.delete(sessionId);
    this.#gone.add(sessionId);
    if (this.#gone.size > GONE_MAX) this.#gone.delete(this.#gone.values().next().value);
  }

  #isShown(item) {
    return Boolean(item.archived) === this.archive;
  }

  isGone(sessionId) {
    return this.#gone.has(sessionId);
  }
}

function newestFirst(a, b) {
  if (a.activity_at !== b.activity_at) return b.activity_at - a.activity_at;
  return a.session_id < b.session_id ? 1 : -1;
}
