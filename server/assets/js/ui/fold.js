/** Cards that fold. They stay as a person left them: a settled answer goes on in the nodes of the live one. */

import { h } from "./dom.js";

const touched = new WeakSet();

/** A card with a summary; `open` is how it stands until a person says otherwise. */
export function foldable(className, open, summary, body) {
  const node = h("details", { class: `card ${className}` }, summary, body);
  node.open = open;
  summary.addEventListener("click", () => touched.add(node));
  return node;
}

/** Opens a card that no person has folded or unfolded yet. */
export function unfold(node) {
  if (!touched.has(node)) node.open = true;
}
