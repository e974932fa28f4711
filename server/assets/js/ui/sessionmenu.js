/** What can be done to the session on screen as a whole. */

import { confirm } from "./confirm.js";
import { h, icon, setAttribute, show } from "./dom.js";

export class SessionMenu {
  #app;

  constructor(app) {
    this.#app = app;
    this.undo = this.#item("undo", "Take back the last message", () => this.#undo());
    this.clear = this.#item("cross", "Clear the conversation…", () => this.#clear());
    this.remove = this.#item("trash", "Delete session…", () => this.#delete());
    this.summary = h("summary", { class: "quiet", "aria-label": "Session actions" }, icon("more"));
    this.node = h("details", { class: "session-menu", hidden: true }, this.summary, h("div", { class: "menu-items" }, this.undo, this.clear, this.remove));
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
    const deleting = pending.has("delete");
    this.remove.disabled = deleting || !this.#app.connected;
    setAttribute(this.remove, "aria-busy", deleting ? "true" : null);
  }

  #item(name, label, act) {
    const choose = () => { this.#close(); act(); };
    return h("button", { type: "button", class: "quiet", onclick: choose }, icon(name), label);
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
