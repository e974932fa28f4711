/** One view per kind of item, the same for live and settled answers (ATT-23, STOP-11). */

import { MarkdownView } from "../markdown.js";
import { h, icon, setText, show } from "./dom.js";
import { foldable } from "./fold.js";
import { isPlan, planView } from "./plan.js";
import { toolView } from "./tool.js";

/** Share of time that drawing one growing item may take before updates are spaced out. */
const DRAW_SHARE = 4;

/** Stands for the text that a state of a very long running answer leaves out. */
const OMITTED = "*The beginning of this part is long; it is shown when the run has ended.*";

/**
 * Creates the view of an item; entries carry `item`, `final` (nothing of it can
 * change any more) and `active` (the agent is at it).
 */
export function itemView({ item }) {
  if (item.kind === "thinking") return thinkingView();
  if (item.kind === "tool") return toolView(item);
  if (item.kind === "compression") return compressionView();
  if (item.kind === "notice") return isPlan(item) ? planView() : noticeView();
  return textView(item.kind);
}

function textView(kind) {
  const node = h("div", { class: `prose ${kind === "interim" ? "interim" : ""}` });
  const draw = paced(new MarkdownView(node));
  return { node, update: ({ item, final }) => draw(item.omitted ? `${OMITTED}\n\n${item.text ?? ""}` : (item.text ?? ""), final) };
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

function thinkingView() {
  const label = h("span", { class: "card-title" });
  const preview = h("span", { class: "card-preview" });
  const body = h("div", { class: "card-body thinking-text" });
  const node = foldable("thinking", false, h("summary", {}, icon("thought"), label, preview, icon("chevron")), body);
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

function compressionView() {
  const label = h("span", {});
  return {
    node: h("div", { class: "divider" }, label),
    update: ({ item, final }) => setText(label, final || item.value?.status !== "running" ? "Context auto-compressed" : "Compressing context"),
  };
}

function noticeView() {
  const label = h("span", {});
  const node = h("p", { class: "notice-line" }, icon("note"), label);
  return {
    node,
    update({ item }) {
      const { value } = item;
      const text = item.text ?? value?.text ?? value?.message ?? (value?.mode ? `Mode: ${value.mode.name ?? value.mode.id}` : "");
      setText(label, String(text));
      show(node, text !== "");
    },
  };
}

function lastLine(text) {
  const trimmed = text.trimEnd();
  return trimmed.slice(trimmed.lastIndexOf("\n") + 1).slice(0, 160);
}
