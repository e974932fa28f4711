/** Long texts: their beginning, and the rest on demand. */

import { h, setAttribute, setText, show } from "./dom.js";
import { bytes } from "./format.js";

/** Lines and characters shown of a text at first; a text that is little longer is shown whole. */
export const LINES_SHOWN = 14;
export const CHARS_SHOWN = 2_400;
const LINES_MORE = 3;
const CHARS_MORE = 600;

/** The beginning of a text that is shown at first; the text itself when it is short. */
export function beginningOf(text) {
  const lines = text.split("\n");
  const few = lines.length <= LINES_SHOWN + LINES_MORE ? text : lines.slice(0, LINES_SHOWN).join("\n");
  return few.length <= CHARS_SHOWN + CHARS_MORE ? few : few.slice(0, CHARS_SHOWN);
}

/** A preformatted text in full or shortened; `label` names it to screen readers. */
export function longTextView(label) {
  const code = h("code", {});
  const pre = h("pre", { tabindex: "0", "aria-label": label }, code);
  const more = h("button", { type: "button", class: "quiet more" });
  const node = h("div", { class: "long-text" }, pre, more);
  let whole = "";
  let open = false;
  const draw = () => {
    const short = beginningOf(whole);
    const cut = short.length < whole.length;
    setText(code, open || !cut ? whole : short);
    node.classList.toggle("cut", cut && !open);
    show(more, cut);
    setAttribute(more, "aria-expanded", String(open));
    setText(more, open ? "Show less" : `Show all ${whole.split("\n").length.toLocaleString("en")} lines (${bytes(whole.length)})`);
  };
  more.addEventListener("click", () => {
    open = !open;
    draw();
    if (!open) node.scrollIntoView({ block: "nearest" });
  });
  return {
    node,
    update(text) {
      whole = text.replace(/\n+$/, "");
      draw();
    },
  };
}
