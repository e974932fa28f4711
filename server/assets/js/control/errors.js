/** Acknowledges error records (UIX-3): a card leaves when the server has it as seen. */

import { textOfOutcome } from "../codes.js";

export class ErrorCards {
  #host;
  #errors;

  /** `host` as in questions.js; `errors()` gives the store of records. */
  constructor(host, errors) {
    this.#host = host;
    this.#errors = errors;
  }

  acknowledge(record) {
    const { connection, pending, notice, changed } = this.#host;
    const key = `error:${record.error_id}`;
    if (record.code === "connection_lost") this.#errors().close([record.error_id]);
    else if (!pending.has(key)) {
      pending.add(key);
      connection.request("acknowledge_user_error", { error_id: record.error_id }, (result) => {
        pending.delete(key);
        if (result.outcome === "done") this.#errors().close([record.error_id]);
        else notice(key, textOfOutcome(result));
        changed();
      }, () => pending.delete(key));
    }
    changed();
  }
}
