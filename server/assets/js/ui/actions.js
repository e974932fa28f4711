/** What can be done to a settled entry of the transcript. */

import { h, icon, show } from "./dom.js";

const LABELS = {
  edit: ["edit", "Edit"],
  regenerate: ["redo", "Regenerate"],
  retry: ["redo", "Try again"],
  truncate: ["trash", "Remove what follows"],
};

/** A row of buttons; `act(name, entry)` is called when one is pressed. */
export function actionsBar(act) {
  const node = h("div", { class: "entry-actions", hidden: true });
  let shown = "";
  let current = null;
  return {
    node,
    update(entry) {
      current = entry;
      const names = entry.actions ?? [];
      show(node, names.length > 0);
      if (names.join() === shown) return;
      shown = names.join();
      node.replaceChildren(...names.map((name) => {
        const [symbol, label] = LABELS[name];
        return h("button", { type: "button", class: "quiet", "data-action": name, onclick: () => act(name, current) }, icon(symbol), label);
      }));
    },
  };
}

/** The editor of a message: its text, and what sending it does. */
export function messageEditor({ text, followed, send, close }) {
  const field = h("textarea", { rows: "3", "aria-label": "Edit message", spellcheck: "true" });
  field.value = text;
  const submit = h("button", { type: "submit", class: "primary" }, "Send");
  const cancel = h("button", { type: "button", class: "secondary", onclick: close }, "Cancel");
  const note = h("p", { class: "muted" }, followed ? "Sending it removes everything after this message." : "The agent answers anew.");
  const node = h("form", { class: "message-editor" }, field, h("footer", {}, note, cancel, submit));
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim() !== "") send(field.value);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      node.requestSubmit();
    }
  });
  return { node, focus: () => field.focus(), busy(value) { field.disabled = value; submit.disabled = value; } };
}
