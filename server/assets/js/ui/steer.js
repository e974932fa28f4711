/** A steer in the answer it steers, with its state in words (STR-02, STR-04). */

import { h, icon, setText } from "./dom.js";

const STATES = {
  sending: "sending…",
  unknown: "not confirmed yet",
  accepted: "waits until the agent reads it",
  consumed: "read by the agent",
};

/** Creates the view of a steer. */
export function steerView() {
  const text = h("span", { class: "steer-text" });
  const state = h("span", { class: "steer-state", role: "status" });
  return {
    node: h("div", { class: "steer" }, icon("steer"), h("span", { class: "visually-hidden" }, "You, while the agent worked: "), text, state),
    update({ steer }) {
      setText(text, steer.text ?? "A steer from another window");
      setText(state, STATES[steer.state] ?? "");
    },
  };
}

/** A steer that came back: the run ended before its agent read it. */
export function returnedView(app, use) {
  const said = h("span", {});
  const text = h("span", { class: "returned-text" });
  let current = null;
  const close = () => app.dismissSteer(current);
  const node = h("div", { class: "tray-line returned", role: "group", "aria-label": "Steer that was not read" }, icon("steer"),
    h("div", { class: "returned-words" }, said, text),
    h("button", { type: "button", class: "quiet", onclick: () => { use(current.text); close(); } }, "Use as message"),
    h("button", { type: "button", class: "quiet", "aria-label": "Dismiss", onclick: close }, icon("close")));
  return {
    node,
    update({ steer }) {
      current = steer;
      setText(said, steer.state === "lost" ? "Not known whether the agent read your steer:" : "Steer not read before the run ended:");
      setText(text, steer.text);
    },
  };
}
