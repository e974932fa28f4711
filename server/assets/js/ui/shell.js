/** The frame of the page: sidebar (a drawer on narrow screens), header, conversation, composer. */

import { Badge } from "./badge.js";
import { Composer } from "./composer.js";
import { h, icon, setAttribute, setText, show } from "./dom.js";
import { SessionMenu } from "./sessionmenu.js";
import { Sidebar } from "./sidebar.js";
import { SignIn } from "./signin.js";
import { Transcript } from "./transcript.js";
import { SessionUsage } from "./usage.js";

const NARROW = window.matchMedia("(max-width: 760px)");

export class Shell {
  #app;
  #drawer = false;
  #signedOut = false;
  #problems = null;

  constructor(app, toasts, announcer) {
    this.#app = app;
    this.transcript = new Transcript(app, (text) => this.composer.suggest(text));
    this.composer = new Composer(app, {
      onSend: () => { this.transcript.follow(); this.update(); },
      reveal: (questionId) => this.transcript.reveal(questionId),
      use: (text) => this.#use(text),
      sees: (questionId) => this.transcript.sees(questionId),
    });
    this.sidebar = new Sidebar(app, { chosen: () => this.#chosen(), problems: () => this.#openProblems() });
    this.badge = new Badge(app);
    this.signIn = new SignIn(app);
    this.menu = h("button", { type: "button", class: "quiet menu", "aria-label": "Sessions", "aria-controls": "sidebar", onclick: () => this.#toggle(!this.#drawer) }, icon("menu"));
    this.title = h("h1", {});
    this.usage = new SessionUsage();
    this.sessionMenu = new SessionMenu(app);
    this.banner = h("div", { class: "banner", role: "status", hidden: true });
    this.main = h("main", { class: "main" },
      h("header", { class: "topbar" }, this.menu, h("div", { class: "topbar-title" }, this.title, this.usage.node), this.badge.node, this.sessionMenu.node),
      this.banner, this.transcript.node, this.composer.node);
    this.scrim = h("div", { class: "scrim", onclick: () => this.#toggle(false) });
    this.frame = h("div", { class: "frame" }, this.sidebar.node, this.scrim, this.main);
    document.body.append(this.frame, this.signIn.node, toasts.node, announcer.node);
    document.addEventListener("keydown", (event) => this.#key(event));
    NARROW.addEventListener("change", () => this.#toggle(false));
    this.#toggle(false);
  }

  /** Draws the current state of the app. */
  update() {
    const signedOut = this.signIn.update();
    show(this.frame, !signedOut);
    this.sidebar.update();
    this.badge.update();
    this.sessionMenu.update();
    this.transcript.update();
    this.composer.update();
    this.#problems?.update();
    this.#head();
    if (this.#signedOut && !signedOut) this.composer.focus();
    this.#signedOut = signedOut;
  }

  #head() {
    const { projection, background } = this.#app;
    const facts = projection?.facts ?? null;
    const title = projection === null ? "New session" : facts?.title || "Untitled session";
    setText(this.title, title);
    this.usage.update(projection);
    document.title = `${background > 0 ? `(${background}) ` : ""}${title} · Runwarden`;
    this.#bannerText();
  }

  #bannerText() {
    const { fatal, reloadRequired } = this.#app;
    const kind = fatal !== null ? "fatal" : reloadRequired ? "reload" : "";
    show(this.banner, kind !== "");
    if (this.banner.dataset.kind === kind) return;
    this.banner.dataset.kind = kind;
    const reload = h("button", { type: "button", class: "secondary", onclick: () => location.reload() }, "Reload");
    const text = kind === "fatal" ? "The server reported a fatal problem. This page has stopped reconnecting." : "The server was updated. Reload to use the matching page; your draft is kept.";
    this.banner.replaceChildren(h("span", {}, text), reload);
  }

  /** Puts a text before the draft of the session on screen. */
  #use(text) {
    this.#app.drafts.giveBack(this.#app.projection?.sessionId ?? null, text);
    this.update();
    this.composer.focus();
  }

  #chosen() {
    this.#toggle(false);
    this.composer.focus();
  }

  #toggle(open) {
    this.#drawer = open && NARROW.matches;
    this.frame.dataset.drawer = String(this.#drawer);
    setAttribute(this.menu, "aria-expanded", String(this.#drawer));
    this.sidebar.node.inert = NARROW.matches && !this.#drawer;
    this.main.inert = this.#drawer;
    if (this.#drawer) this.sidebar.node.querySelector("button")?.focus();
  }

  #key(event) {
    if (event.key !== "Escape" || !this.#drawer) return;
    this.#toggle(false);
    this.menu.focus();
  }

  async #openProblems() {
    if (this.#problems === null) {
      const { Problems } = await import("./problems.js");
      this.#problems = new Problems(this.#app);
      document.body.append(this.#problems.node);
    }
    this.#problems.open();
  }
}
