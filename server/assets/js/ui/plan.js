/** The plan of an agent: its entries, each with its status in words. */

import { h, icon, setText } from "./dom.js";
import { foldable } from "./fold.js";

const STATES = { completed: "done", in_progress: "in progress", pending: "to do" };

/** Whether an item is a plan. */
export function isPlan(item) {
  return Array.isArray(item.value?.plan);
}

/** Creates the view of a plan item. */
export function planView() {
  const progress = h("span", { class: "plan-progress" });
  const preview = h("span", { class: "card-preview" });
  const list = h("ol", { class: "plan-list", role: "list" });
  const node = foldable("plan", true, h("summary", {}, icon("list"), h("span", { class: "card-title" }, "Plan"), progress, preview, icon("chevron")), h("div", { class: "card-body" }, list));
  return {
    node,
    update({ item, final }) {
      const entries = item.value?.plan ?? [];
      const done = entries.filter((entry) => entry.status === "completed").length;
      const now = entries.find((entry) => entry.status === "in_progress");
      setText(progress, `${done} of ${entries.length} done`);
      setText(preview, now && !final ? now.content : "");
      list.replaceChildren(...entries.map((entry) => entryView(entry, final)));
    },
  };
}

/** `final`: the run is over, so nothing is in progress any more. */
function entryView(entry, final) {
  const status = entry.status in STATES ? entry.status : "pending";
  const stale = final && status === "in_progress";
  const mark = status === "completed" ? icon("check") : h("span", { class: status === "in_progress" && !final ? "spinner" : "plan-circle", "aria-hidden": "true" });
  return h("li", { class: "plan-entry", "data-status": stale ? "pending" : status },
    h("span", { class: "plan-mark" }, mark), h("span", { class: "plan-text" }, String(entry.content ?? ""), h("span", { class: "visually-hidden" }, ` (${stale ? "not finished" : STATES[status]})`)),
    stale ? h("span", { class: "tag", "aria-hidden": "true" }, "not finished") : null, entry.priority === "high" ? h("span", { class: "tag strong" }, "high priority") : null);
}
