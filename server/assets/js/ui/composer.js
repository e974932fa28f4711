/** The composer: draft, Send, Stop and the notices of both (UIX-18, WEB-18, STOP-19). */

import { h, icon, setAttribute, setText, show } from "./dom.js";
import { Tray } from "./tray.js";

const HINT = "Enter sends, Shift+Enter adds a line";

export class Composer {
  #app;
  #onSend;
  #sessionId = undefined;
  #draftVersion = -1;

  /** `onSend()` runs after a message left the composer; `reveal` and `sees` are those of the tray. */
  constructor(app, { onSend, reveal, sees }) {
    this.#app = app;
    this.#onSend = onSend;
    this.field = h("textarea", { rows: "1", "aria-label": "Message", "aria-describedby": "composer-hint", placeholder: "Write a message", spellcheck: "true" });
    this.grow = h("div", { class: "grow" }, this.field);
    this.send = h("button", { type: "submit", class: "primary round", "aria-label": "Send", title: "Send" }, icon("send"));
    this.stopLabel = h("span", {}, "Stop");
    this.stop = h("button", { type: "button", class: "stop", hidden: true, onclick: () => app.stop() }, icon("stop"), this.stopLabel);
    this.notice = h("p", { class: "control-notice", role: "alert", hidden: true });
    this.tray = new Tray(app, { reveal, sees });
    this.hint = h("p", { class: "hint", id: "composer-hint" }, HINT);
    this.node = h("form", { class: "composer", "aria-label": "Message to the agent" },
      this.tray.node, this.notice, h("div", { class: "composer-box" }, this.grow, h("div", { class: "composer-controls" }, this.stop, this.send)), this.hint);
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.field.addEventListener("input", () => this.#typed());
    this.field.addEventListener("keydown", (event) => this.#key(event));
  }

  update() {
    const { projection, drafts, connection, pending } = this.#app;
    const sessionId = projection?.sessionId ?? null;
    if (sessionId !== this.#sessionId || drafts.version !== this.#draftVersion) this.#showDraft(sessionId, drafts);
    this.tray.update();
    const stopping = projection?.run?.phase === "cancelling" || pending.has("stop");
    const mayStop = projection?.mayStop ?? false;
    const focused = document.activeElement === this.stop;
    show(this.stop, mayStop);
    if (focused && !mayStop) this.focus();
    setText(this.stopLabel, stopping ? "Stopping…" : "Stop");
    setAttribute(this.stop, "aria-busy", stopping ? "true" : null);
    show(this.send, !mayStop);
    this.send.disabled = !this.#app.maySend || this.field.value.trim() === "";
    const notice = this.#app.notice("stop") ?? this.#app.notice("composer") ?? this.#app.notice("session");
    setText(this.notice, notice ?? "");
    show(this.notice, notice !== null);
    setText(this.hint, this.#hint(projection, connection.condition, mayStop, stopping));
  }

  /** Puts a text into the field as if it had been typed. */
  suggest(text) {
    this.field.value = text;
    this.#typed();
    this.focus();
  }

  focus() {
    this.field.focus({ preventScroll: true });
  }

  #hint(projection, condition, mayStop, stopping) {
    if (condition === "reconnecting" || condition === "stopped") return "Not connected. Your text stays here.";
    if (stopping) return "Stopping. The run ends when the server confirms it.";
    if (mayStop) return "The agent is working. Esc goes to Stop.";
    if (this.#app.creating || projection?.submitting) return "Sending…";
    return HINT;
  }

  #showDraft(sessionId, drafts) {
    this.#sessionId = sessionId;
    this.#draftVersion = drafts.version;
    this.field.value = drafts.get(sessionId);
    this.grow.dataset.value = this.field.value;
  }

  #typed() {
    this.grow.dataset.value = this.field.value;
    this.#app.drafts.set(this.#sessionId, this.field.value);
    this.#app.dismiss("composer");
    this.#app.dismiss("session");
    this.update();
  }

  #key(event) {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.#submit();
    } else if (event.key === "Escape" && !this.stop.hidden) {
      event.preventDefault();
      this.stop.focus();
    }
  }

  #submit() {
    const text = this.field.value;
    if (text.trim() === "" || !this.#app.maySend) return;
    const draftOf = this.#sessionId;
    this.#app.drafts.set(draftOf, "");
    this.field.value = "";
    this.grow.dataset.value = "";
    if (!this.#app.send(text)) {
      this.#app.drafts.set(draftOf, text);
      this.field.value = text;
      this.grow.dataset.value = text;
    }
    this.focus();
    this.#onSend();
  }
}
