/**
 * The loaded pages of one session (SES-29, SES-30, HIS-11, HIS-14, HIS-18). Pure.
 *
 * Effects: `{kind: "load_latest"}`, `{kind: "load_before", before, snapshot}` and
 * `{kind: "read_later", delayMs}` after a failed read of the newest page.
 */

export const PAGES_MAX = 6;
export const WINDOW_BYTES_MAX = 8_388_608;
export const BACKOFF_BASE_MS = 1_000;
export const BACKOFF_CAP_MS = 30_000;

/** Wait before a read is repeated that failed `failures` times before. */
export function backoff(failures) {
  return Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** Math.min(failures, 16));
}

export class History {
  #pages = [];
  #reading = null;
  #dirty = false;
  #failures = 0;

  constructor() {
    this.revision = -1;
    this.snapshot = null;
    this.total = 0;
    this.loaded = false;
    /** True while newer pages were let go because older ones are being read. */
    this.detached = false;
    this.earlierFailed = false;
    /** Number of reads of the newest page begun so far. */
    this.reads = 0;
  }

  /** Loaded rows, oldest first. */
  get rows() {
    return this.#pages.flatMap((page) => page.rows);
  }

  get hasEarlier() {
    return this.#pages.length > 0 && this.#pages[0].before !== null;
  }

  get loadingEarlier() {
    return this.#reading === "before";
  }

  /** The newest page is out of date. Any number of calls cause one further read (SES-29). */
  invalidate() {
    if (this.detached) return [];
    if (this.#reading !== null) {
      this.#dirty = true;
      return [];
    }
    this.#reading = "latest";
    this.reads += 1;
    return [{ kind: "load_latest" }];
  }

  /** Back to the newest page, giving up the older ones. */
  reset() {
    this.detached = false;
    this.#pages = [];
    return this.invalidate();
  }

  loadEarlier() {
    if (this.#reading !== null || !this.hasEarlier) return [];
    this.#reading = "before";
    this.earlierFailed = false;
    return [{ kind: "load_before", before: this.#pages[0].before, snapshot: this.snapshot }];
  }

  /** Takes a `history_page`. */
  page(data) {
    const selector = this.#reading;
    this.#reading = null;
    this.#failures = 0;
    const page = { rows: data.rows, before: data.before, bytes: JSON.stringify(data.rows).length };
    if (selector === "before") this.#prepend(page);
    else this.#latest(page, data);
    return this.#again();
  }

  /** The read got no page; `code` is the refusal or null. */
  failed(code) {
    const selector = this.#reading;
    this.#reading = null;
    if (selector === "before") {
      this.earlierFailed = true;
      return code === "cursor_unavailable" ? this.reset() : this.#again();
    }
    this.#dirty = false;
    this.#failures += 1;
    return [{ kind: "read_later", delayMs: backoff(this.#failures - 1) }];
  }

  /** A closed connection ends every read; the next open reads again. */
  disconnected() {
    this.#reading = null;
    this.#dirty = false;
  }

  #again() {
    if (!this.#dirty) return [];
    this.#dirty = false;
    return this.invalidate();
  }

  #latest(page, data) {
    if (this.detached || data.session_revision < this.revision) return;
    this.loaded = true;
    this.revision = data.session_revision;
    this.snapshot = data.snapshot;
    this.total = data.total;
    this.#pages = [...this.#keepBefore(page.rows[0]?.message_id), page];
  }

  /** Older pages cut at the first row of the new page, or nothing when they do not touch it. */
  #keepBefore(firstId) {
    const kept = [];
    for (const old of this.#pages) {
      const at = old.rows.findIndex((row) => row.message_id === firstId);
      if (at > 0) kept.push({ ...old, rows: old.rows.slice(0, at) });
      if (at >= 0) return kept;
      kept.push(old);
    }
    return [];
  }

  #prepend(page) {
    const known = new Set(this.rows.map((row) => row.message_id));
    this.#pages.unshift({ ...page, rows: page.rows.filter((row) => !known.has(row.message_id)) });
    const bytes = () => this.#pages.reduce((sum, each) => sum + each.bytes, 0);
    while (this.#pages.length > 1 && (this.#pages.length > PAGES_MAX || bytes() > WINDOW_BYTES_MAX)) {
      this.#pages.pop();
      this.detached = true;
    }
  }
}
