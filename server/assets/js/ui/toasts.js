/** Short announcements: toasts for errors, and a voice for screen readers. */

import { textOfCode } from "../codes.js";
import { h, icon } from "./dom.js";

const TOAST_MS = 8_000;
const TOASTS_MAX = 4;

export class Toasts {
  constructor() {
    this.node = h("div", { class: "toasts", role: "alert" });
  }

  /** Shows a record for a while. */
  add(record) {
    const toast = h("div", { class: "toast" }, icon("alert"), h("span", {}, textOfCode(record.code)),
      h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => toast.remove() }, icon("close")));
    this.node.append(toast);
    while (this.node.childElementCount > TOASTS_MAX) this.node.firstChild.remove();
    setTimeout(() => toast.remove(), TOAST_MS);
  }
}

/** A polite live region: it says what changed without reading every streamed word. */
export class Announcer {
  constructor() {
    this.node = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  }

  say(text) {
    this.node.textContent = text.slice(0, 400);
  }
}
