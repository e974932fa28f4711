/** The sign-in form, shown while credentials are missing or refused (RCN-8). */

import { h, setText, show } from "./dom.js";

export class SignIn {
  #app;

  constructor(app) {
    this.#app = app;
    this.field = h("input", { type: "password", id: "token", autocomplete: "current-password", spellcheck: "false", required: true });
    this.button = h("button", { type: "submit", class: "primary" }, "Sign in");
    this.notice = h("p", { class: "control-notice", role: "alert", hidden: true });
    this.form = h("form", { class: "signin-card", "aria-labelledby": "signin-title" },
      h("div", { class: "brand" }, h("span", { class: "brand-mark", "aria-hidden": "true" }), "Runwarden"),
      h("h1", { id: "signin-title" }, "Sign in"),
      h("p", { class: "muted" }, "Enter the access token of this server. It was printed when the server first started and is kept in the file “token” of its state directory."),
      h("label", { for: "token" }, "Access token"), this.field, this.notice, this.button);
    this.node = h("main", { class: "signin", hidden: true }, this.form);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const token = this.field.value.trim();
      this.field.value = "";
      if (token !== "") app.signIn(token);
    });
  }

  /** Returns whether the form is on screen. */
  update() {
    const shown = this.#app.connection.condition === "signed_out";
    const appeared = shown && this.node.hidden;
    show(this.node, shown);
    this.button.disabled = this.#app.pending.has("signin");
    const notice = this.#app.notice("signin");
    setText(this.notice, notice ?? "");
    show(this.notice, notice !== null);
    if (appeared) this.field.focus();
    return shown;
  }
}
