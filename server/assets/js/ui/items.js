/** One view per kind of item, the same for live and settled answers (ATT-23, STOP-11). */

import { MarkdownView } from "../markdown.js";
import { h, icon, setText, show } from "./dom.js";

/** Share of time that drawing one growing item may take before updates are spaced out. */
const DRAW_SHARE = 4;
const OUTPUT_SHOWN_MAX = 32_768;

/** Items a person unfolded stay unfolded when the run settles. */
const unfolded = new Set();

/**
 * Creates the view of an item; entries carry `item`, `final` (nothing of it can
 * change any more) and `active` (the agent is at it).
 */
export function itemView({ item }) {
  if (item.kind === "thinking") return thinkingView(item);
  if (item.kind === "tool") return toolView(item);
  if (item.kind === "compression") return compressionView();
  if (item.kind === "notice") return noticeView();
  return textView(item.kind);
}

function textView(kind) {
  const node = h("div", { class: `prose ${kind === "interim" ? "interim" : ""}` });
  const draw = paced(new MarkdownView(node));
  return { node, update: ({ item, final }) => draw(item.text ?? "", final) };
}

/** Draws at once while that is cheap, and spaces redraws of very long blocks. */
function paced(view) {
  let cost = 0;
  let drawnAt = 0;
  let timer = null;
  const draw = (text, final) => {
    clearTimeout(timer);
    const now = performance.now();
    const wait = drawnAt + cost * DRAW_SHARE - now;
    if (!final && wait > 0 && cost > DRAW_SHARE) {
      timer = setTimeout(() => draw(text, final), wait);
      return;
    }
    view.update(text, final);
    drawnAt = performance.now();
    cost = drawnAt - now;
  };
  return draw;
}

function foldable(item, className, summary, body) {
  const node = h("details", { class: `card ${className}` }, summary, body);
  node.open = unfolded.has(item.id);
  node.addEventListener("toggle", () => (node.open ? unfolded.add(item.id) : unfolded.delete(item.id)));
  return node;
}

function thinkingView(first) {
  const label = h("span", { class: "card-title" });
  const preview = h("span", { class: "card-preview" });
  const body = h("div", { class: "card-body thinking-text" });
  const node = foldable(first, "thinking", h("summary", {}, icon("thought"), label, preview, icon("chevron")), body);
  return {
    node,
    update({ item, active }) {
      const text = item.text ?? "";
      setText(label, active ? "Thinking…" : "Thought");
      node.classList.toggle("active", active);
      setText(preview, lastLine(text));
      setText(body, text);
    },
  };
}

function toolView(first) {
  const state = h("span", { class: "tool-state" });
  const name = h("span", { class: "card-title mono" });
  const preview = h("span", { class: "card-preview" });
  const body = h("div", { class: "card-body" });
  const node = foldable(first, "tool", h("summary", {}, state, name, preview, icon("chevron")), body);
  let shown = null;
  return {
    node,
    update({ item, final }) {
      const value = item.value ?? {};
      const status = final && value.status === "running" ? "ended" : (value.status ?? "running");
      setText(name, String(value.name ?? "tool"));
      setText(preview, String(value.summary ?? ""));
      if (shown !== status) state.replaceChildren(stateMark(status), h("span", { class: "visually-hidden" }, TOOL_STATES[status] ?? status));
      shown = status;
      node.dataset.status = status;
      body.replaceChildren(...section("Input", value.input), ...section("Output", value.output));
      if (body.childElementCount === 0) body.append(h("p", { class: "muted" }, status === "running" ? "No output yet." : "No output."));
    },
  };
}

const TOOL_STATES = { running: "running", done: "done", failed: "failed", ended: "did not finish" };

function stateMark(status) {
  if (status === "done") return icon("check");
  if (status === "failed" || status === "ended") return icon("cross");
  return h("span", { class: "spinner", "aria-hidden": "true" });
}

function section(title, value) {
  if (value === null || value === undefined || value === "") return [];
  const whole = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const text = whole.length > OUTPUT_SHOWN_MAX ? `${whole.slice(0, OUTPUT_SHOWN_MAX)}\n… ${whole.length - OUTPUT_SHOWN_MAX} more characters` : whole;
  return [h("p", { class: "card-label" }, title), h("pre", { tabindex: "0" }, h("code", {}, text))];
}

function compressionView() {
  const label = h("span", {});
  return {
    node: h("div", { class: "divider" }, label),
    update: ({ item, final }) => setText(label, final || item.value?.status !== "running" ? "Context auto-compressed" : "Compressing context"),
  };
}

function noticeView() {
  const node = h("p", { class: "notice-line" });
  return {
    node,
    update({ item }) {
      const text = item.text ?? item.value?.text ?? item.value?.message ?? "";
      setText(node, String(text));
      show(node, text !== "");
    },
  };
}

function lastLine(text) {
  const trimmed = text.trimEnd();
  return trimmed.slice(trimmed.lastIndexOf("\n") + 1).slice(0, 160);
}
