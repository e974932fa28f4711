/** The card of an open question (ASK-06): its options, free text, time left, and how it ended. */

import { h, icon, setAttribute, setText, show } from "./dom.js";
import { duration } from "./format.js";

const OUTCOMES = {
  answered: "Answered",
  expired: "Expired without an answer",
  cancelled: "Closed by Stop",
  interrupted: "Closed when the run ended",
  closed: "No longer open",
};
/** Less time than this is pointed out, in milliseconds. */
const URGENT_MS = 15_000;
const ALLOWS = /^(always )?(allow|yes|approve|accept|ok\b|continue|proceed|grant|permit|run\b)/i;
const DENIES = /^(always )?(deny|no\b|reject|refuse|decline|cancel|abort|block|never|don.?t|do not|skip|stop\b)/i;

/** What an option of an approval does, as far as its own words tell: allow, deny or null. */
export function meaningOf(option) {
  if (DENIES.test(option.trim())) return "deny";
  return ALLOWS.test(option.trim()) ? "allow" : null;
}

/** Creates the card of a question; `app.answer(question, answer)` answers it. */
export function questionView(app, { question: first }) {
  const approval = first.kind === "approval";
  const prompt = h("p", { class: "question-prompt", id: `prompt-${first.question_id}` }, first.prompt);
  const status = h("p", { class: "question-status" });
  const outcome = h("p", { class: "question-outcome", role: "status" });
  const notice = h("p", { class: "control-notice", role: "alert", hidden: true });
  let current = first;
  const answer = (value) => {
    app.answer(current, value);
    node.focus({ preventScroll: true });
  };
  const controls = first.multi ? severalOf(first, answer) : oneOf(first, approval, answer);
  const node = h("section", { class: `card question ${approval ? "approval" : ""}`, role: "group", "aria-labelledby": prompt.id, tabindex: "-1" },
    h("header", {}, icon(approval ? "shield" : "question"), h("span", { class: "card-title" }, approval ? "Permission needed" : "Question"), status),
    prompt, first.marker ? h("p", { class: "muted" }, "The text is longer than what is shown.") : null, controls, outcome, notice);
  return {
    node,
    update({ question }) {
      current = question;
      const open = question.outcome === null;
      const pending = app.pending.has(`question:${question.question_id}`);
      const text = app.notice(`question:${question.question_id}`);
      const left = question.expires_at - app.serverNow();
      node.dataset.outcome = question.outcome ?? "open";
      setAttribute(node, "data-urgent", open && left <= URGENT_MS ? "true" : null);
      show(controls, open);
      for (const control of controls.querySelectorAll("button, input")) setAttribute(control, "disabled", pending);
      show(status, open);
      setText(status, pending ? "Sending…" : left > 0 ? `${duration(left)} left to answer` : "Expiring…");
      setText(outcome, open ? "" : outcomeText(question));
      show(outcome, !open);
      setText(notice, text ?? "");
      show(notice, open && text !== null);
    },
  };
}

function outcomeText({ outcome, answer }) {
  const said = answer ? [answer.choice, ...(answer.options ?? []), answer.text].filter(Boolean).join(", ") : "";
  if (outcome !== "answered") return OUTCOMES[outcome] ?? "Closed";
  return said === "" ? "Answered in another window" : `Answered: ${said}`;
}

/** One button per option, in the order of the agent, and free text where it is taken. */
function oneOf(question, approval, answer) {
  const buttons = question.options.map((option) => {
    const meaning = approval ? meaningOf(option) : null;
    const mark = meaning === null ? null : icon(meaning === "allow" ? "check" : "cross");
    return h("button", { type: "button", class: "secondary option", "data-meaning": meaning, onclick: () => answer({ choice: option }) }, mark, h("span", {}, option));
  });
  const options = h("div", { class: "question-options" }, ...buttons);
  const custom = question.allow_custom || question.options.length === 0 ? ownAnswer(question, (text) => text !== "" && answer({ text })) : null;
  return h("div", { class: "question-controls" }, buttons.length > 0 ? options : null, custom);
}

/** A box per option; they are answered together, with the free text if there is one. */
function severalOf(question, answer) {
  const boxes = question.options.map((option) => h("input", { type: "checkbox", value: option }));
  const labels = boxes.map((box) => h("label", { class: "option-box" }, box, h("span", {}, box.value)));
  const submit = (text) => {
    const options = boxes.filter((box) => box.checked).map((box) => box.value);
    answer(text === "" ? { options } : { options, text });
  };
  const choices = h("fieldset", {}, h("legend", {}, "Choose any number"), ...labels);
  if (question.allow_custom) return h("div", { class: "question-controls" }, choices, ownAnswer(question, submit));
  const button = h("button", { type: "button", class: "secondary option", onclick: () => submit("") }, "Answer");
  return h("div", { class: "question-controls" }, choices, h("div", { class: "question-options" }, button));
}

function ownAnswer(question, submit) {
  const name = question.options.length === 0 ? "Your answer" : "Your own answer";
  const field = h("input", { type: "text", "aria-label": name, placeholder: name, autocomplete: "off", maxlength: "4096" });
  const form = h("form", { class: "question-custom" }, field, h("button", { type: "submit", class: "secondary" }, "Answer"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(field.value.trim());
  });
  return form;
}
