/** What can be done to the session on screen as a whole. */

import { ask, confirm } from "./confirm.js";
import { h, icon, setAttribute, setText, show } from "./dom.js";

/** Longest title, in characters (title_chars_max). */
const TITLE_CHARS_MAX = 256;

export class SessionMenu {
  #app;

  constructor(app) {
    this.#app = app;
    this.rename = this.#item("edit", "Rename…", () => this.#rename());
    this.archive = this.#item("archive", "", () => this.#app.archiveSession(this.#app.projection.sessionId, !this.#archived));
    this.undo = this.#item("undo", "Take back the last message", () => this.#undo());
    this.clear = this.#item("cross", "Clear the conversation…", () => this.#clear());
    this.remove = this.#item("trash", "Delete session…", () => this.#delete());
    this.summary = h("summary", { class: "quiet", "aria-label": "Session actions" }, icon("more"));
    this.node = h("details", { class: "session-menu", hidden: true }, this.summary, h("div", { class: "menu-items" }, this.rename, this.archive, this.undo, this.clear, this.remove));
    this.node.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("pointerdown", (event) => { if (!this.node.contains(event.target)) this.#close(); });
  }

  update() {
    const { projection, pending } = this.#app;
    const shown = projection !== null;
    show(this.node, shown);
    if (!shown) this.#close();
    const empty = !shown || projection.history.rows.length === 0;
    for (const button of [this.undo, this.clear]) button.disabled = empty || !this.#app.rewrites.ready;
    for (const button of [this.rename, this.archive]) button.disabled = !shown || !this.#app.connected || pending.has("change");
    setText(this.archive.lastChild, this.#archived ? "Take out of the archive" : "Archive");
    const deleting = pending.has("delete");
    this.remove.disabled = deleting || !this.#app.connected;
    setAttribute(this.remove, "aria-busy", deleting ? "true" : null);
  }

  get #archived() {
    const facts = this.#app.projection?.facts;
    return facts?.archived ?? facts?.features?.archived ?? false;
  }

  #item(name, label, act) {
    const choose = () => { this.#close(); act(); };
    return h("button", { type: "button", class: "quiet", onclick: choose }, icon(name), h("span", {}, label));
  }

  async #rename() {
    const { projection } = this.#app;
    if (projection === null) return;
    const title = await ask({ title: "Rename this session", label: "Title", value: projection.facts?.title ?? "", charsMax: TITLE_CHARS_MAX, yes: "Rename" });
    if (title !== null) this.#app.renameSession(projection.sessionId, title);
  }

  #close() {
    this.node.open = false;
  }

  #key(event) {
    if (event.key !== "Escape" || !this.node.open) return;
    event.stopPropagation();
    this.#close();
    this.summary.focus();
  }

  /** The last message and its answer go; its text is a draft again. */
  #undo() {
    const last = this.#app.projection?.history.rows.findLast((row) => row.role === "user") ?? null;
    this.#app.rewrites.run("undo", { draft: last?.body ?? null });
  }

  async #clear() {
    const text = "All messages of this session go, also for every other window. This cannot be undone.";
    if (await confirm({ title: "Clear the conversation?", text, yes: "Clear" })) this.#app.rewrites.run("clear");
  }

  async #delete() {
    const { projection } = this.#app;
    if (projection === null) return;
    const title = projection.facts?.title || "Untitled session";
    const working = projection.mayStop ? " Its run is stopped first." : "";
    const text = `“${title}” goes with all its messages, also for every other window.${working} This cannot be undone.`;
    if (await confirm({ title: "Delete this session?", text, yes: "Delete" })) this.#app.deleteSession(projection.sessionId);
  }
}
