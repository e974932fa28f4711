/** What stands between conversation and composer: what is waited for, by whom, and what came back. */

import { h, icon, Keyed, setText, show } from "./dom.js";
import { QueuePanel } from "./queue.js";
import { windingText } from "./states.js";
import { returnedView } from "./steer.js";

export class Tray {
  #app;
  #sees;
  #winding = { status: null, at: 0 };

  /** `reveal(questionId)` brings a question into view, `sees(questionId)` tells whether it is, `use(text)` puts a text before the draft. */
  constructor(app, { reveal, sees, use }) {
    this.#app = app;
    this.#sees = sees;
    this.asked = h("span", {});
    const look = h("button", { type: "button", class: "quiet", onclick: () => this.#reveal(reveal) }, "Show");
    this.question = h("div", { class: "tray-line asking", hidden: true }, icon("question"), this.asked, look);
    this.state = h("span", { role: "status" });
    this.winding = h("div", { class: "tray-line winding", hidden: true }, h("span", { class: "pulse", "aria-hidden": "true" }), this.state);
    const returned = h("div", { class: "tray-list" });
    this.returned = new Keyed(returned, () => returnedView(app, use));
    this.queue = new QueuePanel(app);
    this.node = h("div", { class: "tray" }, this.winding, this.question, returned, this.queue.node);
  }

  update() {
    const { projection } = this.#app;
    const open = projection?.openQuestions ?? [];
    show(this.question, open.some((question) => !this.#sees(question.question_id)));
    setText(this.asked, open.length === 1 ? "The agent waits for your answer." : `The agent waits for ${open.length} answers.`);
    const returned = projection?.steers.returned ?? [];
    this.returned.update(returned.map((steer) => ({ key: steer.key, version: steer.state, steer })));
    show(this.returned.parent, returned.length > 0);
    this.queue.update();
    const text = this.#windingText(projection);
    show(this.winding, text !== null);
    setText(this.state, text ?? "");
  }

  #windingText(projection) {
    const status = projection?.item?.status ?? projection?.manifest?.status ?? null;
    const key = `${projection?.sessionId}:${status}`;
    if (this.#winding.status !== key) this.#winding = { status: key, at: Date.now() };
    return projection?.mayStop ? null : windingText(status, Date.now() - this.#winding.at);
  }

  #reveal(reveal) {
    const open = this.#app.projection?.openQuestions ?? [];
    const first = open.find((question) => !this.#sees(question.question_id)) ?? open[0];
    if (first) reveal(first.question_id);
  }
}
