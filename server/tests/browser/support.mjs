/** What the browser tests share: a browser, a server to test, pages of signed-in windows. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { startMock } from "./mock/server.mjs";

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Starts Chromium; `CHROMIUM` names another binary than Debian's. */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGS });
}

/**
 * The server under test: the one of `RUNWARDEN_URL`, else a mock. `url` carries the token in its
 * fragment.
 */
export async function target() {
  const url = process.env.RUNWARDEN_URL;
  if (url) return { url, mock: null, close() {} };
  const mock = await startMock();
  return { url: mock.url, mock, close: () => mock.close() };
}

/** Opens a window of its own login that reports every error and every policy violation. */
export async function openWindow(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  return { context, page: await openTab(context, url) };
}

/** Opens a tab in the login of a context; `prepare(page)` runs before it loads. */
export async function openTab(context, url, prepare = async () => {}) {
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) page.problems.push(message.text());
  });
  await prepare(page);
  await page.goto(url);
  return page;
}

/** Waits until the badge says connected. */
export async function connected(page, timeout = 10_000) {
  await page.locator('.badge[data-condition="connected"]').waitFor({ timeout });
}

/** Starts a new session in the page. */
export async function newSession(page) {
  await connected(page);
  await page.locator(".new-session").click();
  await page.getByText("What should the agent do?").waitFor();
}

/** Sends a message with the keyboard. */
export async function send(page, text) {
  const field = page.getByRole("textbox", { name: "Message", exact: true });
  await field.fill(text);
  await page.locator(".composer button[type=submit]:enabled").waitFor({ timeout: 15_000 });
  await field.press("Enter");
}

export function stopButton(page) {
  return page.locator(".composer button.stop");
}

/** The text of the last answer. */
export function lastAnswer(page) {
  return page.locator(".entry.answer").last();
}

/** Waits until what was sent is answered, no run is active and a message could be sent. */
export async function idle(page, timeout = 20_000) {
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await page.locator(".composer", { hasText: "Sending…" }).waitFor({ state: "detached", timeout });
  await stopButton(page).waitFor({ state: "hidden", timeout });
  await page.locator('.entry.answer[data-live="true"]').waitFor({ state: "detached", timeout });
}

/** Texts of all entries in order, without times. */
export function transcriptOf(page) {
  return page.locator(".entries > .entry").evaluateAll((nodes) => nodes.map((node) => {
    const parts = [...node.querySelectorAll(".bubble, .prose, .thinking-text, .tool .card-title")];
    return `${node.classList[1]}: ${parts.map((part) => part.textContent).join(" | ")}`;
  }));
}

/** Kinds of the parts of the last answer, in order. */
export function partsOf(page) {
  return lastAnswer(page).locator(".parts > *:not(.question)").evaluateAll((nodes) => nodes.map((node) => {
    const kind = ["thinking", "tool", "interim", "prose"].find((name) => node.classList.contains(name));
    return `${kind}:${node.querySelector(".card-title.mono")?.textContent ?? ""}`;
  }));
}

/** Takes a screenshot into `RUNWARDEN_SHOTS`, if that is set. */
export async function shot(page, name) {
  const folder = process.env.RUNWARDEN_SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Waits until a condition of the test itself holds. */
export async function until(condition, what, timeout = 15_000) {
  const last = Date.now() + timeout;
  while (!condition()) {
    if (Date.now() > last) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
