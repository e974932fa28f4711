/** A change of one file, coloured by lines. */

import { changes, folded, lineDiff } from "../diff.js";
import { h } from "./dom.js";

const MARKS = { added: "+", removed: "−", same: " " };
const SAID = { added: "added: ", removed: "removed: ", same: "" };
/** Lines shown at first, and at most. */
const LINES_SHOWN = 60;
const LINES_MAX = 5_000;

/** Whether a part of a tool's output is a change of a file. */
export function isDiff(part) {
  return typeof part === "object" && part !== null && typeof part.path === "string" && ("new" in part || "old" in part);
}

/** Lines added and removed by all changes of an output. */
export function changesOf(parts) {
  const sums = parts.filter(isDiff).map((part) => changes(lineDiff(part.old, part.new)));
  return sums.reduce((sum, each) => ({ added: sum.added + each.added, removed: sum.removed + each.removed }), { added: 0, removed: 0 });
}

/** The changes as `+3 −1`, with words for screen readers. */
export function changesLabel({ added, removed }) {
  return h("span", { class: "diff-count" },
    h("span", { class: "visually-hidden" }, `${added} lines added, ${removed} removed`),
    h("span", { class: "added", "aria-hidden": "true" }, `+${added}`), h("span", { class: "removed", "aria-hidden": "true" }, `−${removed}`));
}

/** The view of a change `{path, old, new}`. */
export function diffView(part) {
  const lines = lineDiff(part.old, part.new);
  const shown = folded(lines);
  const table = h("div", { class: "diff-lines" });
  const body = h("div", { class: "diff-scroll", tabindex: "0", role: "group", "aria-label": `Change of ${part.path}` }, table);
  const draw = (count) => table.replaceChildren(...shown.slice(0, count).map(lineView));
  const state = part.old === null || part.old === undefined ? "new file" : part.new === null || part.new === undefined ? "deleted" : null;
  const node = h("figure", { class: "diff" },
    h("figcaption", {}, h("span", { class: "diff-path" }, part.path), state && h("span", { class: "tag" }, state), changesLabel(changes(lines))), body);
  if (lines.every((line) => line.kind === "same")) node.append(h("p", { class: "muted diff-none" }, "No line differs."));
  draw(LINES_SHOWN);
  if (shown.length > LINES_SHOWN) {
    const more = h("button", { type: "button", class: "quiet more" }, `Show all ${shown.length.toLocaleString("en")} lines`);
    more.addEventListener("click", () => {
      draw(LINES_MAX);
      more.remove();
      body.focus();
    });
    node.append(more);
  }
  return node;
}

function lineView(line) {
  if (line.kind === "gap") return h("div", { class: "diff-gap" }, `${line.count} unchanged ${line.count === 1 ? "line" : "lines"}`);
  return h("div", { class: `diff-line ${line.kind}` },
    h("span", { class: "diff-number", "aria-hidden": "true" }, String(line.now ?? line.old)),
    h("span", { class: "diff-mark", "aria-hidden": "true" }, MARKS[line.kind]),
    h("span", { class: "visually-hidden" }, SAID[line.kind]), h("span", { class: "diff-text" }, line.text === "" ? " " : line.text));
}
