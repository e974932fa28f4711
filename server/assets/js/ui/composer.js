/** The composer: draft, Send, Queue, Steer, Stop, the agent, and the notices of all (UIX-18, WEB-18, STOP-19). */

import { h, icon, setAttribute, setText, show } from "./dom.js";
import { Picker } from "./picker.js";
import { Tray } from "./tray.js";

const HINT = "Enter sends, Shift+Enter adds a line";

export class Composer {
  #app;
  #onSend;
  #sessionId = undefined;
  #draftVersion = -1;

  /** `onSend()` runs after a message left the composer; `reveal`, `sees` and `use` are those of the tray. */
  constructor(app, { onSend, reveal, sees, use }) {
    this.#app = app;
    this.#onSend = onSend;
    this.field = h("textarea", { rows: "1", "aria-label": "Message", "aria-describedby": "composer-hint", placeholder: "Write a message", spellcheck: "true" });
    this.grow = h("div", { class: "grow" }, this.field);
    this.sendLabel = h("span", { class: "send-label" });
    this.send = h("button", { type: "submit", class: "primary send" }, icon("send"), this.sendLabel);
    this.steer = h("button", { type: "button", class: "secondary steer-button", hidden: true, title: "Tell the agent while it works (Ctrl+Enter)", onclick: () => this.#leave((text) => app.steer(text)) }, icon("steer"), h("span", {}, "Steer"));
    this.stopLabel = h("span", {}, "Stop");
    this.stop = h("button", { type: "button", class: "stop", hidden: true, onclick: () => app.stop() }, icon("stop"), this.stopLabel);
    this.notice = h("p", { class: "control-notice", role: "alert", hidden: true });
    this.picker = new Picker(app);
    this.tray = new Tray(app, { reveal, sees, use });
    this.hint = h("p", { class: "hint", id: "composer-hint" }, HINT);
    this.node = h("form", { class: "composer", "aria-label": "Message to the agent" },
      this.tray.node, this.notice,
      h("div", { class: "composer-box" }, this.grow, h("div", { class: "composer-foot" }, this.picker.node, h("div", { class: "composer-controls" }, this.stop, this.steer, this.send))), this.hint);
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
    this.picker.update();
    const stopping = projection?.run?.phase === "cancelling" || pending.has("stop");
    const mayStop = projection?.mayStop ?? false;
    const focused = document.activeElement === this.stop;
    show(this.stop, mayStop);
    if (focused && !mayStop) this.focus();
    setText(this.stopLabel, stopping ? "Stopping…" : "Stop");
    setAttribute(this.stop, "aria-busy", stopping ? "true" : null);
    this.#sendControls(mayStop);
    const notice = this.#app.notice("stop") ?? this.#app.notice("composer") ?? this.#app.notice("agent") ?? this.#app.notice("session");
    setText(this.notice, notice ?? "");
    show(this.notice, notice !== null);
    const { text, keys } = this.#hint(projection, connection.condition, mayStop, stopping);
    setText(this.hint, text);
    setAttribute(this.hint, "data-kind", keys ? "keys" : null);
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

  /** Send starts a run, or queues behind one; both are offered as the server's status allows. */
  #sendControls(mayStop) {
    const { sendMode, maySteer } = this.#app;
    const blank = this.field.value.trim() === "";
    const label = sendMode === "queue" ? "Queue" : "Send";
    setText(this.sendLabel, label);
    setAttribute(this.send, "title", sendMode === "queue" ? "Wait its turn (Enter)" : "Send (Enter)");
    this.send.dataset.mode = sendMode ?? "none";
    show(this.send, !mayStop || (sendMode === "queue" && !blank));
    this.send.disabled = sendMode === null || blank;
    show(this.steer, maySteer && !blank);
  }

  /** The line below the field: what happens, or else which keys do what. */
  #hint(projection, condition, mayStop, stopping) {
    if (condition === "reconnecting" || condition === "stopped") return { text: "Not connected. Your text stays here." };
    if (stopping) return { text: "Stopping. The run ends when the server confirms it." };
    if (this.#app.creating || projection?.submitting) return { text: "Sending…" };
    if (mayStop) return { text: this.#app.maySteer ? "Enter queues, Ctrl+Enter steers the running answer, Esc goes to Stop" : "Enter queues the message behind this run, Esc goes to Stop", keys: true };
    if (this.#app.sendMode === "queue") return { text: "Enter queues the message behind those that wait", keys: true };
    return { text: HINT, keys: true };
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
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (this.#app.maySteer) this.#leave((text) => this.#app.steer(text));
      else this.#submit();
    } else if (event.key === "Escape" && !this.stop.hidden) {
      event.preventDefault();
      this.stop.focus();
    }
  }

  #submit() {
    if (this.#app.sendMode !== null) this.#leave((text) => this.#app.send(text));
  }

  /** Hands the text over; what is not taken stays. */
  #leave(hand) {
    const text = this.field.value;
    if (text.trim() === "") return;
    const draftOf = this.#sessionId;
    this.#app.drafts.set(draftOf, "");
    this.field.value = "";
    this.grow.dataset.value = "";
    if (!hand(text)) {
      this.#app.drafts.set(draftOf, text);
      this.field.value = text;
      this.grow.dataset.value = text;
    }
    this.focus();
    this.#onSend();
  }
}
