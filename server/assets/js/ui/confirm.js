/** Asks before something that cannot be taken back. One dialog for the whole page. */

import { h } from "./dom.js";

let dialog = null;

/** Resolves to true when the person says yes; Escape and the first button say no. */
export function confirm({ title, text, yes }) {
  dialog?.remove();
  return new Promise((resolve) => {
    const answer = (value) => () => { dialog.returnValue = value; dialog.close(value); };
    const keep = h("button", { type: "button", class: "secondary", autofocus: true, onclick: answer("no") }, "Cancel");
    const act = h("button", { type: "button", class: "danger", onclick: answer("yes") }, yes);
    dialog = h("dialog", { class: "confirm", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-text" },
      h("h2", { id: "confirm-title" }, title), h("p", { id: "confirm-text" }, text), h("footer", {}, keep, act));
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    document.body.append(dialog);
    dialog.showModal();
  });
}
