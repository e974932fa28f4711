/** Starts the page. */

import { App } from "./app.js";
import { loadMarkdown } from "./markdown.js";
import { addressedSession, takeToken } from "./place.js";
import { Shell } from "./ui/shell.js";
import { Announcer, Toasts } from "./ui/toasts.js";

const token = takeToken();
const toasts = new Toasts();
const announcer = new Announcer();
let shell = null;
let scheduled = false;

const app = new App({
  changed: schedule,
  toast: (record) => toasts.add(record),
  say: (text) => announcer.say(text),
});
shell = new Shell(app, toasts, announcer);

/** One redraw per animation frame, however much changed (WEB-11). */
function schedule() {
  if (scheduled || shell === null) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    shell.update();
  });
}

window.addEventListener("popstate", () => app.choose(addressedSession(), false));
document.addEventListener("visibilitychange", () => document.hidden || app.seen());
shell.update();
app.begin(token);
loadMarkdown();
if (window.matchMedia("(min-width: 761px)").matches) shell.composer.focus();
