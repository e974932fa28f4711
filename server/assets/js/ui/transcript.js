/** The transcript: rows, live scene, questions and error cards, and the reading position (HIS-15). */

import { timeline } from "../timeline.js";
import { h, icon, Keyed, setAttribute, setText, show } from "./dom.js";
import { entryView } from "./entries.js";

const NEAR_END_PX = 80;

export class Transcript {
  #app;
  #sessionId = null;
  #suggest;
  #entries;
  #follow = true;

  /** `suggest(text)` puts a text into the composer. */
  constructor(app, suggest) {
    this.#app = app;
    this.#suggest = suggest;
    this.earlier = h("button", { type: "button", class: "secondary earlier", hidden: true, onclick: () => this.#loadEarlier() }, "Load earlier messages");
    this.list = h("ol", { class: "entries", role: "list" });
    this.empty = h("div", { class: "empty", hidden: true });
    this.latest = h("button", { type: "button", class: "secondary latest", hidden: true, onclick: () => this.#toLatest() }, icon("down"), "Latest");
    this.scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Conversation" },
      h("div", { class: "column" }, this.earlier, this.empty, this.list));
    this.node = h("div", { class: "transcript" }, this.scroller, this.latest);
    this.#entries = new Keyed(this.list, (entry) => entryView(app, entry));
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.list.addEventListener("click", copyCode);
    this.list.addEventListener("toggle", () => this.#scrolled(), true);
  }

  /** Draws the current state of the app. */
  update() {
    const { projection, errors } = this.#app;
    const sessionId = projection?.sessionId ?? null;
    if (sessionId !== this.#sessionId) this.#switch(sessionId);
    const entries = projection === null ? [] : timeline(projection, errors.ofSession(sessionId));
    this.#adopt(entries);
    const anchor = this.#follow ? null : this.#anchor();
    this.#entries.update(entries.map((entry) => this.#ticking(entry)));
    this.#controls(projection, entries);
    if (this.#follow) this.scroller.scrollTop = this.scroller.scrollHeight;
    else if (anchor !== null) this.scroller.scrollTop += anchor.node.getBoundingClientRect().top - anchor.top;
  }

  /** Follows the end again, as after sending. */
  follow() {
    this.#follow = true;
  }

  /** Brings the card of a question into view and the focus to it. */
  reveal(questionId) {
    const card = document.getElementById(`prompt-${questionId}`)?.closest(".question");
    if (!card) return;
    card.scrollIntoView({ block: "center" });
    (card.querySelector("button:enabled, input:enabled") ?? card).focus({ preventScroll: true });
  }

  /** Whether the card of a question is in view, at least its beginning. */
  sees(questionId) {
    const prompt = document.getElementById(`prompt-${questionId}`);
    if (prompt === null) return false;
    const { top, bottom } = this.scroller.getBoundingClientRect();
    const at = prompt.getBoundingClientRect().top;
    return at >= top && at <= bottom;
  }

  #switch(sessionId) {
    this.#sessionId = sessionId;
    this.#follow = true;
    this.#entries.update([]);
  }

  /** Entries that show a clock or a control state are drawn at every update. */
  #ticking(entry) {
    return entry.kind === "live" || entry.kind === "error" ? { ...entry, version: undefined } : entry;
  }

  /** A settled answer goes on in the nodes of its live scene, a sent message in its own. */
  #adopt(entries) {
    const wanted = new Set(entries.map((entry) => entry.key));
    const leaving = this.#entries.keys().filter((key) => !wanted.has(key));
    for (const entry of entries) {
      if (this.#entries.get(entry.key) !== null) continue;
      const from = leaving.find((key) => this.#entries.get(key).continues?.(entry));
      if (from === undefined) continue;
      leaving.splice(leaving.indexOf(from), 1);
      this.#entries.rename(from, entry.key);
    }
  }

  #controls(projection, entries) {
    const history = projection?.history ?? null;
    show(this.earlier, Boolean(history?.hasEarlier));
    setText(this.earlier, history?.loadingEarlier ? "Loading…" : history?.earlierFailed ? "Could not load. Try again" : "Load earlier messages");
    setAttribute(this.earlier, "aria-busy", history?.loadingEarlier ? "true" : null);
    show(this.latest, Boolean(history?.detached) || !this.#follow);
    this.#greeting(projection, entries);
  }

  #greeting(projection, entries) {
    const waiting = projection !== null && !projection.history.loaded;
    const blank = entries.length === 0;
    show(this.empty, blank);
    if (!blank) return;
    const examples = waiting ? [] : this.#app.examples;
    const kind = waiting ? "waiting" : `start:${examples.length}`;
    if (this.empty.dataset.kind === kind) return;
    this.empty.dataset.kind = kind;
    if (waiting) this.empty.replaceChildren(h("p", { class: "muted" }, "Loading the conversation…"));
    else this.empty.replaceChildren(...this.#welcome(examples));
  }

  #welcome(examples) {
    const buttons = examples.map(({ prompt, text }) => h("li", {},
      h("button", { type: "button", class: "example", onclick: () => this.#suggest(prompt) }, h("code", {}, prompt), h("span", {}, text))));
    return [
      h("h2", {}, "What should the agent do?"),
      h("p", { class: "muted" }, "Write a message below. You can stop the run at any time, close this page and come back: nothing is lost."),
      ...(buttons.length > 0 ? [h("p", { class: "muted examples-label" }, "The demo agent needs no model. Try it:"), h("ul", { class: "examples", role: "list" }, ...buttons)] : []),
    ];
  }

  #loadEarlier() {
    this.#follow = false;
    this.#app.loadEarlier();
  }

  #toLatest() {
    this.#follow = true;
    this.#app.jumpToLatest();
    this.update();
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const follow = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    if (follow === this.#follow) return;
    this.#follow = follow;
    show(this.latest, Boolean(this.#app.projection?.history.detached) || !follow);
  }

  /** The first entry in view and where it stands. */
  #anchor() {
    const edge = this.scroller.getBoundingClientRect().top;
    for (const node of this.list.children) {
      const { top, bottom } = node.getBoundingClientRect();
      if (bottom > edge) return { node, top };
    }
    return null;
  }
}

async function copyCode(event) {
  const button = event.target.closest("[data-copy]");
  if (button === null) return;
  const text = button.closest("figure").querySelector("code").textContent;
  const label = button.querySelector("span");
  try {
    await navigator.clipboard.writeText(text);
    label.textContent = "Copied";
  } catch {
    label.textContent = "Select and copy";
  }
  setTimeout(() => { label.textContent = "Copy"; }, 1_500);
}
