/** What the session on screen has used so far, and how full its context was in its last run (USE-02). */

import { h, show } from "./dom.js";
import { contextFact, usageFacts } from "./format.js";

export class SessionUsage {
  #drawn = "";

  constructor() {
    this.node = h("p", { class: "session-usage" });
  }

  update(projection) {
    const usage = projection?.facts?.usage ?? null;
    const facts = usageFacts(usage);
    const context = contextFact(usage);
    const drawn = JSON.stringify([facts, context]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const parts = facts.map(({ text, full }) => h("span", { title: full }, text));
    if (context !== null) parts.push(contextView(context));
    this.node.replaceChildren(h("span", { class: "usage-label" }, "Session:"), ...parts);
    show(this.node, parts.length > 0);
  }
}

function contextView({ text, full, share }) {
  if (share === null) return h("span", { title: full }, text);
  const meter = h("meter", { min: "0", max: "1", high: "0.8", optimum: "0", value: String(share), "aria-hidden": "true" });
  return h("span", { class: "context", title: full }, text, meter);
}
