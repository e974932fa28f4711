/** The card of a tool call: what it is, how it stands, what went in and what came out. */

import { changesLabel, changesOf, diffView, isDiff } from "./diffview.js";
import { h, icon, setText } from "./dom.js";
import { foldable, unfold } from "./fold.js";
import { longTextView } from "./longtext.js";

const STATES = { running: "running", done: "done", failed: "failed", ended: "did not finish" };

/** Creates the view of a tool item. */
export function toolView(first) {
  const state = h("span", { class: "tool-state" });
  const name = h("span", { class: "card-title mono" });
  const preview = h("span", { class: "card-preview" });
  const count = h("span", { class: "tool-changes" });
  const body = h("div", { class: "card-body" });
  const node = foldable("tool", hasDiff(first.value), h("summary", {}, state, name, preview, count, icon("chevron")), body);
  const parts = partsView(body);
  let shown = null;
  let waiting = null;
  const fill = () => {
    if (!node.open || waiting === null) return;
    parts(waiting);
    waiting = null;
  };
  node.addEventListener("toggle", fill);
  return {
    node,
    update({ item, final }) {
      const value = item.value ?? {};
      const status = final && value.status === "running" ? "ended" : (value.status ?? "running");
      setText(name, String(value.name ?? "tool"));
      setText(preview, String(value.summary ?? ""));
      if (shown !== status) state.replaceChildren(stateMark(status), h("span", { class: "visually-hidden" }, STATES[status] ?? status));
      shown = status;
      node.dataset.status = status;
      if (hasDiff(value)) {
        count.replaceChildren(changesLabel(changesOf(partsOf(value.output))));
        unfold(node);
      }
      waiting = { value, status };
      fill();
    },
  };
}

function hasDiff(value) {
  return Array.isArray(value?.output) && value.output.some(isDiff);
}

function partsOf(output) {
  if (output === null || output === undefined || output === "") return [];
  const parts = Array.isArray(output) && output.every((part) => typeof part === "string" || isDiff(part)) ? output : [output];
  return parts.filter((part) => part !== "");
}

/** Fills a card's body; a part that did not change keeps its node, unfolded or scrolled as it is. */
function partsView(body) {
  let held = new Map();
  return ({ value, status }) => {
    const next = new Map();
    const nodes = [];
    const label = (text) => nodes.push(h("p", { class: "card-label" }, text));
    const put = (key, part, name) => {
      const same = held.get(key);
      const view = same && same.kind === kindOf(part) ? same : newPart(part, name);
      view.update(part);
      next.set(key, view);
      nodes.push(view.node);
    };
    const inputs = partsOf(value.input);
    if (inputs.length > 0) label("Input");
    inputs.forEach((part, index) => put(`in${index}`, part, "Input"));
    const outputs = partsOf(value.output);
    if (outputs.some((part) => !isDiff(part))) label("Output");
    outputs.forEach((part, index) => put(`out${index}`, part, "Output"));
    if (inputs.length + outputs.length === 0) nodes.push(h("p", { class: "muted" }, status === "running" ? "No output yet." : "No output."));
    if (value.truncated) nodes.push(h("p", { class: "card-label" }, "Long values end with “…”: the server keeps 32 KiB of each call."));
    held = next;
    reconcile(body, nodes);
  };
}

function kindOf(part) {
  return isDiff(part) ? "diff" : "text";
}

function newPart(part, name) {
  if (!isDiff(part)) {
    const text = longTextView(name);
    return { kind: "text", node: text.node, update: (value) => text.update(textOf(value)) };
  }
  const node = h("div", {});
  let known = null;
  return {
    kind: "diff", node,
    update(value) {
      const same = known !== null && known.path === value.path && known.old === value.old && known.new === value.new;
      if (!same) node.replaceChildren(diffView(value));
      known = value;
    },
  };
}

function textOf(value) {
  if (typeof value === "string") return value;
  const fields = Object.entries(value);
  const single = fields.length === 1 && ["command", "text", "content", "output", "stdout"].includes(fields[0][0]) && typeof fields[0][1] === "string";
  return single ? fields[0][1] : JSON.stringify(value, null, 2);
}

function reconcile(parent, nodes) {
  const kept = new Set(nodes);
  for (const node of [...parent.childNodes]) if (!kept.has(node)) node.remove();
  nodes.forEach((node, index) => {
    if (parent.childNodes[index] !== node) parent.insertBefore(node, parent.childNodes[index] ?? null);
  });
}

function stateMark(status) {
  if (status === "done") return icon("check");
  if (status === "failed" || status === "ended") return icon("cross");
  return h("span", { class: "spinner", "aria-hidden": "true" });
}
