/** Asks: before something that cannot be taken back, and for a line of text. One dialog for the whole page. */

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

/** Resolves to the text the person gives, or to null when they leave it. */
export function ask({ title, label, value, charsMax, yes }) {
  dialog?.remove();
  return new Promise((resolve) => {
    const field = h("input", { type: "text", "aria-label": label, maxlength: String(charsMax), autofocus: true, value });
    const leave = h("button", { type: "button", class: "secondary", onclick: () => dialog.close("no") }, "Cancel");
    const act = h("button", { type: "submit", class: "primary" }, yes);
    const form = h("form", { method: "dialog" }, field, h("footer", {}, leave, act));
    dialog = h("dialog", { class: "confirm", "aria-labelledby": "ask-title" }, h("h2", { id: "ask-title" }, title), form);
    form.addEventListener("submit", (event) => { event.preventDefault(); dialog.close("yes"); });
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? field.value.trim() : null), { once: true });
    document.body.append(dialog);
    dialog.showModal();
    field.select();
  });
}
