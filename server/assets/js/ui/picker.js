/** The choice of agent and model, for the session on screen or for the next one (AGT-05). */

import { h, icon, setAttribute, setText, show } from "./dom.js";

export class Picker {
  #app;
  #drawn = "";

  constructor(app) {
    this.#app = app;
    this.agent = h("select", { "aria-label": "Agent", "aria-describedby": "picker-why" });
    this.model = h("select", { "aria-label": "Model", "aria-describedby": "picker-why" });
    this.agentBox = h("span", { class: "select" }, this.agent, icon("chevron"));
    this.modelBox = h("span", { class: "select" }, this.model, icon("chevron"));
    this.fixed = h("span", { class: "picker-fixed" });
    this.why = h("span", { class: "picker-why", id: "picker-why" });
    this.node = h("div", { class: "picker" }, this.agentBox, this.modelBox, this.fixed, this.why);
    this.agent.addEventListener("change", () => app.chooseAgent(this.agent.value, null));
    this.model.addEventListener("change", () => app.chooseAgent(app.agentInUse.agent, this.model.value));
  }

  update() {
    const { agents, agentInUse: used, pending } = this.#app;
    const item = agents.get(used.agent);
    const why = pending.has("agent") ? "Changing…" : this.#why();
    const models = item?.models ?? [];
    show(this.agentBox, agents.items.length > 1);
    show(this.modelBox, models.length > 1);
    show(this.fixed, agents.items.length <= 1 && used.agent !== null);
    setText(this.fixed, [item?.label ?? used.agent, models.length > 1 ? null : used.model].filter(Boolean).join(" · "));
    this.#options(agents.items, models, used);
    for (const select of [this.agent, this.model]) setAttribute(select, "disabled", why !== "");
    if (!pending.has("agent")) this.#show(used);
    setText(this.why, agents.hasChoice ? why || this.#gone(item, used) : this.#gone(item, used));
    show(this.why, this.why.textContent !== "");
  }

  /** What was refused is not chosen. */
  #show({ agent, model }) {
    if (agent !== null && this.agent.value !== agent) this.agent.value = agent;
    if (model !== null && this.model.value !== model) this.model.value = model;
  }

  /** Why nothing can be chosen now, in words. */
  #why() {
    const { projection, sendMode } = this.#app;
    if (projection === null ? sendMode === "start" : projection.maySend) return "";
    return projection?.mayStop || projection?.mayQueue ? "Fixed while it runs" : "Fixed for now";
  }

  #gone(item, used) {
    if (!this.#app.agents.loaded || used.agent === null) return "";
    if (item === null) return "This agent is no longer configured";
    return item.available ? "" : "Not available on this server now";
  }

  /** Draws the options only when they differ, so that an open list stays open. */
  #options(items, models, used) {
    const drawn = JSON.stringify([items, used]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const known = items.some((item) => item.agent === used.agent);
    const all = known || used.agent === null ? items : [...items, { agent: used.agent, label: used.agent, available: false }];
    this.agent.replaceChildren(...all.map((item) => option(item.agent, item.available ? item.label : `${item.label} (not available)`, !item.available, item.agent === used.agent)));
    const named = used.model === null || models.includes(used.model) ? models : [...models, used.model];
    this.model.replaceChildren(...named.map((model) => option(model, model, false, model === used.model)));
  }
}

function option(value, text, disabled, selected) {
  const node = h("option", { value, disabled: disabled && !selected }, text);
  node.selected = selected;
  return node;
}
