/** What can be done to the session on screen as a whole. */

import { confirm } from "./confirm.js";
import { h, icon, setAttribute, show } from "./dom.js";

export class SessionMenu {
  #app;

  constructor(app) {
    this.#app = app;
    this.remove = this.#item("trash", "Delete session…", () => this.#delete());
    this.summary = h("summary", { class: "quiet", "aria-label": "Session actions" }, icon("more"));
    this.node = h("details", { class: "session-menu", hidden: true }, this.summary, h("div", { class: "menu-items" }, this.remove));
    this.node.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("pointerdown", (event) => { if (!this.node.contains(event.target)) this.#close(); });
  }

  update() {
    const { projection, pending } = this.#app;
    const shown = projection !== null;
    show(this.node, shown);
    if (!shown) this.#close();
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

  async #delete() {
    const { projection } = this.#app;
    if (projection === null) return;
    const title = projection.facts?.title || "Untitled session";
    const working = projection.mayStop ? " Its run is stopped first." : "";
    const text = `“${title}” goes with all its messages, also for every other window.${working} This cannot be undone.`;
    if (await confirm({ title: "Delete this session?", text, yes: "Delete" })) this.#app.deleteSession(projection.sessionId);
  }
}
