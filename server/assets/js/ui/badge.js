/** The one connection state of the page (UIX-12, OBS-03). */

import { h, setText, show } from "./dom.js";

export class Badge {
  #app;

  constructor(app) {
    this.#app = app;
    this.label = h("span", {});
    this.retry = h("button", { type: "button", class: "quiet", onclick: () => app.connection.retry() }, "Retry now");
    this.node = h("div", { class: "badge" }, h("span", { class: "dot", "aria-hidden": "true" }), h("span", { role: "status", class: "badge-label" }, this.label), this.retry);
  }

  update() {
    const { connection, serverState } = this.#app;
    const { condition } = connection;
    this.node.dataset.condition = condition === "connected" && serverState !== "open" ? serverState : condition;
    setText(this.label, this.#text(condition, connection.retryIn));
    show(this.retry, condition === "stopped" || (condition === "reconnecting" && connection.retryIn !== null));
  }

  #text(condition, seconds) {
    if (condition === "reconnecting") return seconds === null ? "Reconnecting…" : `Reconnecting in ${seconds} s`;
    if (condition === "connected" && this.#app.serverState === "stopping") return "Server is stopping";
    if (condition === "connected" && this.#app.serverState === "storage_low") return "Server is low on disk";
    return { connecting: "Connecting…", connected: "Connected", degraded: "No news from the server", signed_out: "Signed out", stopped: "Disconnected" }[condition];
  }
}
