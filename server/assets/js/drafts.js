/** Unsent text per session, kept in this window only, also over a reload (STR-21). */

const KEY = "runwarden.drafts";

export class Drafts {
  #texts;

  constructor() {
    this.#texts = new Map(Object.entries(load()));
    /** Raised when a draft changed other than by typing. */
    this.version = 0;
  }

  get(sessionId) {
    return this.#texts.get(sessionId ?? "") ?? "";
  }

  set(sessionId, text) {
    if (text === "") this.#texts.delete(sessionId ?? "");
    else this.#texts.set(sessionId ?? "", text);
    save(Object.fromEntries(this.#texts));
  }

  /** Forgets all drafts. */
  clear() {
    this.#texts.clear();
    this.version += 1;
    save({});
  }

  /** Text of a refused message stands before what was typed since (UIX-18). */
  giveBack(sessionId, text) {
    const typed = this.get(sessionId);
    this.set(sessionId, typed === "" ? text : `${text}\n\n${typed}`);
    this.version += 1;
  }
}

function load() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

function save(texts) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(texts));
  } catch {
    // A full or forbidden storage loses drafts at reload only.
  }
}
