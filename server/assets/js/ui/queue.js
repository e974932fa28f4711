/** The messages that wait, their hold, and what can be done about both (UIX-20, STR-21). */

import { textOfCode } from "../codes.js";
import { h, icon, Keyed, setAttribute, setText, show } from "./dom.js";
import { heldText } from "./states.js";

export class QueuePanel {
  #app;

  constructor(app) {
    this.#app = app;
    this.title = h("p", { class: "queue-title", role: "status" });
    this.reason = h("p", { class: "queue-reason" });
    this.resume = h("button", { type: "button", class: "secondary", onclick: () => app.queueControl.resume() }, "Resume");
    this.list = h("ol", { class: "queue-list", role: "list" });
    this.notice = h("p", { class: "control-notice", role: "alert", hidden: true });
    this.node = h("section", { class: "queue", "aria-label": "Waiting messages", hidden: true },
      h("header", {}, h("div", {}, this.title, this.reason), this.resume), this.list, this.notice);
    this.entries = new Keyed(this.list, () => entryView(app));
  }

  update() {
    const { projection, pending } = this.#app;
    const queue = projection?.queue ?? null;
    const notice = this.#app.notice("queue");
    const started = new Set(projection?.history.rows.map((row) => row.message_id));
    const listed = (queue?.entries ?? []).filter((entry) => !started.has(entry.message_id));
    const own = (queue?.sending ?? []).filter((each) => !listed.some((entry) => entry.message_id === each.messageId));
    const total = listed.length + own.length;
    show(this.node, total > 0 || notice !== null);
    if (this.node.hidden) return;
    const held = queue?.held ?? null;
    setAttribute(this.node, "data-held", held);
    setText(this.title, `${held === null ? "" : "Queue held: "}${total === 1 ? "1 message waits" : `${total} messages wait`}`);
    show(this.title, total > 0);
    setText(this.reason, held === null ? "" : `${heldText(held) ?? textOfCode(held)} (${held})`);
    show(this.reason, held !== null);
    show(this.resume, held !== null);
    const free = projection?.maySend ?? false;
    this.resume.disabled = !free || pending.has("resume");
    setAttribute(this.resume, "title", free ? null : "Possible when the run has ended");
    this.entries.update([
      ...listed.map((entry) => ({ key: entry.message_id, text: entry.summary, position: entry.position, entry })),
      ...own.map((each, index) => ({ key: each.messageId ?? each.localId, text: each.text, position: listed.length + index + 1, entry: null, state: each.state })),
    ]);
    setText(this.notice, notice ?? "");
    show(this.notice, notice !== null);
  }
}

function entryView(app) {
  const position = h("span", { class: "queue-position", "aria-hidden": "true" });
  const text = h("span", { class: "queue-text" });
  const state = h("span", { class: "queue-state" });
  const edit = h("button", { type: "button", class: "quiet", title: "Take out and edit" }, icon("edit"));
  const remove = h("button", { type: "button", class: "quiet", title: "Remove" }, icon("close"));
  let current = null;
  edit.addEventListener("click", () => app.queueControl.remove(current, true));
  remove.addEventListener("click", () => app.queueControl.remove(current, false));
  return {
    node: h("li", { class: "queued" }, position, text, state, edit, remove),
    update({ text: summary, position: place, entry, state: sending }) {
      current = entry;
      setText(position, String(place));
      setText(text, summary);
      const busy = entry !== null && app.pending.has(`queued:${entry.message_id}`);
      setText(state, busy ? "removing…" : entry !== null ? "" : sending === "unknown" ? "not confirmed yet" : "queueing…");
      show(state, state.textContent !== "");
      for (const [button, name] of [[edit, "Take out and edit"], [remove, "Remove"]]) {
        button.disabled = entry === null || busy;
        setAttribute(button, "aria-label", `${name} message ${place}`);
      }
    },
  };
}
