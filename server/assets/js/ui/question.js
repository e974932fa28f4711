/** The card of an open question (ASK-06): options, free text, time left, and its outcome. */

import { h, icon, setAttribute, setText, show } from "./dom.js";
import { duration } from "./format.js";

const OUTCOMES = {
  answered: "Answered",
  expired: "Expired without an answer",
  cancelled: "Closed by Stop",
  interrupted: "Closed when the run ended",
};

export function questionView(app, { question: first }) {
  const prompt = h("p", { class: "question-prompt", id: `prompt-${first.question_id}` }, first.prompt);
  const options = h("div", { class: "question-options" });
  const field = h("input", { type: "text", "aria-label": "Your own answer", placeholder: "Your own answer", autocomplete: "off", maxlength: "4096" });
  const custom = h("form", { class: "question-custom" }, field, h("button", { type: "submit", class: "secondary" }, "Answer"));
  const status = h("p", { class: "question-status", role: "status" });
  const notice = h("p", { class: "control-notice", role: "alert", hidden: true });
  const node = h("section", { class: "card question", role: "group", "aria-labelledby": prompt.id },
    h("header", {}, icon("question"), h("span", { class: "card-title" }, first.kind === "approval" ? "Approval needed" : "Question"), status),
    prompt, options, custom, notice);
  let current = first;
  for (const option of first.options) {
    options.append(h("button", { type: "button", class: "secondary", onclick: () => app.answer(current, { choice: option }) }, option));
  }
  custom.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim() !== "") app.answer(current, { text: field.value });
  });
  const freeText = first.allow_custom || first.options.length === 0;
  return {
    node,
    update({ question }) {
      current = question;
      const open = question.outcome === null;
      const pending = app.pending.has(`question:${question.question_id}`);
      const text = app.notice(`question:${question.question_id}`);
      node.dataset.outcome = question.outcome ?? "open";
      show(options, open && first.options.length > 0);
      show(custom, open && freeText);
      for (const control of node.querySelectorAll("button, input")) setAttribute(control, "disabled", pending);
      setText(status, open ? (pending ? "Sending…" : timeLeft(question)) : OUTCOMES[question.outcome]);
      setText(notice, text ?? "");
      show(notice, open && text !== null);
    },
  };
}

function timeLeft({ expires_at: expiresAt }) {
  const left = expiresAt - Date.now();
  return left > 0 ? `${duration(left)} left` : "Expiring…";
}
