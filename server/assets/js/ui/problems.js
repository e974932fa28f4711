/** Errors that belong to no session, in a dialog that loads on first use (WEB-10). */

import { errorView } from "./entries.js";
import { h, icon, Keyed, show } from "./dom.js";

export class Problems {
  #app;

  constructor(app) {
    this.#app = app;
    this.list = h("ol", { class: "entries", role: "list" });
    this.none = h("p", { class: "muted" }, "No open problems.");
    this.node = h("dialog", { class: "problems-dialog", "aria-labelledby": "problems-title" },
      h("header", {}, h("h2", { id: "problems-title" }, "Problems"),
        h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => this.node.close() }, icon("close"))),
      this.none, this.list);
    this.entries = new Keyed(this.list, () => errorView(app));
  }

  open() {
    this.update();
    this.node.showModal();
  }

  update() {
    const records = this.#app.errors.general();
    this.entries.update(records.map((record) => ({ key: record.error_id, record })));
    show(this.none, records.length === 0);
  }
}
