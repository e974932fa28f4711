/** Reads the agents of the server and chooses one, for a session or for the next (AGT-05). */

import { textOfOutcome } from "../codes.js";
import { randomId } from "../connection.js";

export class Agents {
  #host;
  #list;

  /** `host` as in questions.js; `list()` gives the list of agents. */
  constructor(host, list) {
    this.#host = host;
    this.#list = list;
  }

  /** Reads the list. */
  read() {
    const { connection, changed } = this.#host;
    connection.request("list_agents", {}, ({ outcome, data }) => {
      if (outcome === "done") this.#list().page(data);
      else this.#list().failed();
      changed();
    });
  }

  /** Chooses an agent; a null model is the default one of the agent. */
  choose(agent, model) {
    const { connection, pending, notice, changed, current } = this.#host;
    const projection = current();
    notice("agent", null);
    if (projection === null) {
      this.#list().choose(agent, model);
      changed();
      return;
    }
    if (pending.has("agent")) return;
    pending.add("agent");
    const fields = { session_id: projection.sessionId, title: null, archived: null, agent, model, shared: null, idempotency_key: randomId() };
    connection.request("update_session", fields, (result) => {
      pending.delete("agent");
      if (result.outcome === "done") projection.chose(agent, model ?? this.#list().get(agent)?.default_model ?? null);
      else {
        notice("agent", `Not changed: ${textOfOutcome(result)}`);
        if (result.data?.code === "backend_unavailable") this.read();
      }
      changed();
    }, () => pending.delete("agent"));
    changed();
  }
}
