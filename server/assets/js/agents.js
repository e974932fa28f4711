/** The agents of the server, and which one the next new session gets. Pure. */

export class AgentList {
  constructor() {
    this.items = [];
    this.loaded = false;
    /** True when the list could not be read again; what is shown may be out of date (UIX-9). */
    this.degraded = false;
    /** What a person chose for the next session; null stands for the server's own choice. */
    this.chosen = { agent: null, model: null };
  }

  /** Takes an `agents_list`. A choice that is no longer offered is given up. */
  page(data) {
    this.items = data.agents;
    this.loaded = true;
    this.degraded = false;
    const { agent, model } = this.chosen;
    if (agent !== null && !this.get(agent)?.available) this.chosen = { agent: null, model: null };
    else if (model !== null && !this.get(agent)?.models.includes(model)) this.chosen = { agent, model: null };
  }

  failed() {
    this.degraded = true;
  }

  get(name) {
    return this.items.find((item) => item.agent === name) ?? null;
  }

  /** Agent and model of the next session: what was chosen, else the first agent that can be had. */
  get next() {
    const first = this.items.find((item) => item.available) ?? this.items[0];
    const agent = this.chosen.agent ?? first?.agent ?? null;
    return { agent, model: this.chosen.model ?? this.get(agent)?.default_model ?? null };
  }

  /** Whether there is anything to choose. */
  get hasChoice() {
    return this.items.length > 1 || this.items.some((item) => item.models.length > 1);
  }

  choose(agent, model) {
    this.chosen = { agent, model };
  }
}
