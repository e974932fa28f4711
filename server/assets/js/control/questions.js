/** Answers questions (ASK-01, ASK-06): each by its id, on its own. */

import { textOfOutcome } from "../codes.js";
import { randomId } from "../connection.js";

export class Questions {
  #host;

  /** `host`: `connection`, `pending`, `notice(control, text)`, `changed()` and `current()`. */
  constructor(host) {
    this.#host = host;
  }

  answer(question, answer) {
    const { connection, pending, notice, changed, current } = this.#host;
    const key = `question:${question.question_id}`;
    const projection = current();
    if (pending.has(key) || projection === null) return;
    pending.add(key);
    notice(key, null);
    const fields = {
      session_id: projection.sessionId, question_id: question.question_id,
      question_version: question.question_version, answer, idempotency_key: randomId(),
    };
    connection.request("answer_question", fields, (result) => {
      pending.delete(key);
      if (result.outcome === "done") projection.answered(question.question_id, answer, result.data.outcome);
      else if (result.data?.code === "gone") projection.gone(question.question_id);
      else notice(key, textOfOutcome(result));
      changed();
    }, () => pending.delete(key));
    changed();
  }
}
