/** What the page does by itself, and with states only the mock can be put into. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startMock } from "./mock/server.mjs";
import { connected, idle, lastAnswer, launch, newSession, openTab, send, shot, stopButton } from "./support.mjs";

let browser;

before(async () => { browser = await launch(); });
after(() => browser?.close());

async function withMock(options, body) {
  const mock = await startMock(options);
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  try {
    await body(mock, context);
  } finally {
    await context.close();
    mock.close();
  }
}

// EDGE-6 [browser], WEB-1 [browser]: everything the page asks for lies under its base path, and nothing is missing.
test("the page lives under a base path and asks no other host", () => withMock({ base: "/deep/base/" }, async (mock, context) => {
  const asked = [];
  const missing = [];
  const page = await openTab(context, mock.url, async (tab) => {
    tab.on("request", (request) => asked.push(request.url()));
    tab.on("response", (response) => response.status() >= 400 && missing.push(response.url()));
    tab.on("websocket", (socket) => asked.push(socket.url().replace(/^ws/, "http")));
  });
  await newSession(page);
  await send(page, "Hello");
  await idle(page);
  assert.ok(asked.some((url) => url.endsWith("v1/ws")));
  for (const url of asked) assert.ok(url.startsWith(`${mock.origin}/deep/base/`), url);
  assert.deepEqual(missing, []);
  assert.deepEqual(page.problems, []);
  for (const { url } of mock.requests) assert.ok(!url.includes(mock.token), url);
}));

// WEB-2 [browser]: without its renderer the page connects, shows text and sends.
test("the page works before and without the markdown renderer", () => withMock({}, async (mock, context) => {
  const page = await openTab(context, mock.url, (tab) => tab.route(/vendor\/markdown-it/, (route) => route.abort()));
  await newSession(page);
  await send(page, "Plain");
  await idle(page);
  assert.match(await lastAnswer(page).locator(".prose").textContent(), /\*\*Plain\*\*/);
}));

test("signing in and out", () => withMock({}, async (mock, context) => {
  const page = await openTab(context, mock.url.split("#")[0]);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const field = page.getByLabel("Access token");
  assert.equal(await field.evaluate((node) => node === document.activeElement), true);
  await field.fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("does not accept this token").waitFor();
  await shot(page, "signin-refused");
  await field.fill(mock.token);
  await page.keyboard.press("Enter");
  await newSession(page);
  await send(page, "Private words");
  await idle(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.locator(".session, .entry").first().waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes("Private words"));
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
}));

// HIS-15 [browser], WEB-14 [browser]: the document holds the loaded page only, and older rows do not move what is read.
test("a long session opens with its newest page and loads earlier ones in place", () => withMock({}, async (mock, context) => {
  const counts = [];
  let page;
  for (const groups of [60, 600]) {
    const session = mock.store.create(`${groups} groups`);
    mock.store.seed(session, groups);
    page = await openTab(context, `${mock.url}&session=${session.id}`);
    await connected(page);
    await page.getByText(`Question number ${groups}`, { exact: true }).waitFor();
    counts.push(await page.evaluate(() => document.querySelectorAll(".transcript *").length));
  }
  assert.equal(counts[0], counts[1]);
  await page.locator(".scroller").evaluate((node) => node.scrollTo(0, 0));
  const first = page.getByText("Question number 551", { exact: true });
  await first.waitFor();
  const before = (await first.boundingBox()).y;
  await page.getByRole("button", { name: "Load earlier messages" }).click();
  await page.getByText("Question number 501", { exact: true }).waitFor({ state: "attached" });
  const moved = Math.abs((await first.boundingBox()).y - before);
  assert.ok(moved <= 2, `moved ${moved} px`);
  assert.equal(await page.locator(".entry.user").count(), 100);
  for (let pages = 2; pages < 7; pages += 1) {
    await page.getByRole("button", { name: "Load earlier messages" }).click();
    await page.getByText(`Question number ${551 - pages * 50}`, { exact: true }).waitFor({ state: "attached" });
  }
  assert.equal(await page.locator(".entry.user").count(), 300, "six pages at most");
  await page.getByRole("button", { name: "Latest" }).click();
  await page.getByText("Question number 600", { exact: true }).waitFor();
  assert.equal(await page.locator(".entry.user").count(), 50);
}));

// STOP-11 [browser]: a partial row of thinking and tool records alone is shown.
test("a partial answer without text is shown", () => withMock({}, async (mock, context) => {
  const session = mock.store.create("partial");
  const page = await openTab(context, `${mock.url}&session=${session.id}`);
  await connected(page);
  await send(page, "/think");
  await page.locator(".card.thinking").waitFor();
  await stopButton(page).click();
  await page.locator('.entry.divider[data-marker="cancelled"]').waitFor();
  await idle(page);
  assert.equal(await page.locator(".card.thinking").count(), 1);
  assert.equal(await page.locator(".prose").count(), 0);
}));

test("content never becomes markup, and links lead out safely", () => withMock({}, async (mock, context) => {
  const session = mock.store.create("hostile");
  const page = await openTab(context, `${mock.url}&session=${session.id}`);
  await connected(page);
  await send(page, HOSTILE);
  await idle(page);
  const answer = lastAnswer(page);
  assert.equal(await answer.locator("script, img, b, iframe, [style], [onerror], [onclick]").count(), 0);
  assert.match(await answer.textContent(), /<img src=x onerror=alert\(1\)>/);
  const links = await answer.locator(".prose a").evaluateAll((nodes) => nodes.map((node) => [node.protocol, node.rel, node.target]));
  assert.deepEqual(new Set(links.map(([protocol]) => protocol)), new Set(["https:"]));
  for (const [, rel, aim] of links) assert.deepEqual([rel, aim], ["noopener noreferrer nofollow", "_blank"]);
  assert.deepEqual(page.problems, []);
}));

test("text drawn while it grows equals text drawn at once", () => withMock({}, async (mock, context) => {
  const page = await openTab(context, mock.url);
  await connected(page);
  const different = await page.evaluate(async (source) => {
    const { MarkdownView, loadMarkdown } = await import("./js/markdown.js");
    await loadMarkdown();
    const draw = (steps) => {
      const node = document.createElement("div");
      const view = new MarkdownView(node);
      for (const step of steps) view.update(step, step === source);
      return node.innerHTML;
    };
    const whole = draw([source]);
    const wrong = [];
    for (const size of [1, 3, 7, 50]) {
      const steps = [];
      for (let end = size; end < source.length; end += size) steps.push(source.slice(0, end));
      if (draw([...steps, source]) !== whole) wrong.push(size);
    }
    return wrong;
  }, GROWING);
  assert.deepEqual(different, []);
}));

test("keyboard: Enter sends, Shift+Enter breaks the line, Escape goes to Stop and focus comes back", () => withMock({}, async (mock, context) => {
  const page = await openTab(context, mock.url);
  await newSession(page);
  const field = page.locator(".composer textarea");
  await field.focus();
  await page.keyboard.type("/slow");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("two lines");
  await page.keyboard.press("Enter");
  await page.locator(".entry.user", { hasText: "two lines" }).waitFor();
  await stopButton(page).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await stopButton(page).evaluate((node) => node === document.activeElement), true);
  await page.keyboard.press("Enter");
  await page.locator('.entry.divider[data-marker="cancelled"]').waitFor();
  await idle(page);
  assert.equal(await field.evaluate((node) => node === document.activeElement), true);
  const announced = await page.locator('p[role="status"][aria-live="polite"]').textContent();
  assert.equal(announced, "The run was stopped.");
}));

test("drafts stay with their session and their window, also over a reload", () => withMock({}, async (mock, context) => {
  const [a, b] = ["first", "second"].map((title) => mock.store.create(title));
  const page = await openTab(context, `${mock.url}&session=${a.id}`);
  await connected(page);
  const field = page.locator(".composer textarea");
  await field.fill("for the first");
  await page.getByRole("button", { name: "second" }).click();
  assert.equal(await field.inputValue(), "");
  await page.goBack();
  await page.getByRole("heading", { name: "first" }).waitFor();
  assert.equal(await field.inputValue(), "for the first");
  await page.reload();
  await connected(page);
  assert.equal(await field.inputValue(), "for the first");
  const other = await openTab(context, `${mock.origin}/#session=${a.id}`);
  await connected(other);
  assert.equal(await other.locator(".composer textarea").inputValue(), "");
  assert.equal(b.rows.length, 0);
}));

test("errors without a session wait in a dialog that loads on first use", () => withMock({}, async (mock, context) => {
  const record = { ...mock.store.error(null, "handler_error", "The command failed."), scope: "system" };
  mock.store.errors.set(record.error_id, record);
  const page = await openTab(context, mock.url);
  await connected(page);
  assert.ok(!mock.requests.some(({ url }) => url.endsWith("problems.js")));
  await page.getByRole("button", { name: "1 problem" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("The action failed.").waitFor();
  await shot(page, "problems");
  await dialog.getByRole("button", { name: "Dismiss" }).click();
  await dialog.getByText("No open problems.").waitFor();
}));

test("a run that finishes in a hidden window marks the title until it is seen", () => withMock({}, async (mock, context) => {
  const page = await openTab(context, mock.url);
  await newSession(page);
  await send(page, "Work in the background");
  await lastAnswer(page).waitFor();
  await page.locator(".new-session").click();
  await page.waitForFunction(() => document.title.startsWith("(1) "));
  await page.getByRole("button", { name: /Work in the background/ }).click();
  await page.waitForFunction(() => !document.title.startsWith("("));
}));

test("an agent that cannot be had says so, and one that is lost meanwhile is refused in words", () => withMock({}, async (mock, context) => {
  const page = await openTab(context, mock.url);
  await newSession(page);
  const agent = page.getByRole("combobox", { name: "Agent" });
  await agent.locator("option:disabled", { hasText: "Coder (not available)" }).waitFor({ state: "attached" });
  await agent.selectOption("writer");
  await page.getByRole("combobox", { name: "Model" }).selectOption("large");
  mock.store.agents.find((each) => each.agent === "writer").available = false;
  await send(page, "Hello");
  await page.locator(".composer > .control-notice", { hasText: "not available" }).waitFor();
  assert.equal(await page.locator(".composer textarea").inputValue(), "Hello");
  assert.equal(await page.locator(".session, .toast, .card.error").count(), 0);
}));

test("only a run whose agent takes steers offers one", () => withMock({}, async (mock, context) => {
  const page = await openTab(context, mock.url);
  const steer = page.getByRole("button", { name: "Steer", exact: true });
  for (const [agent, offered] of [["writer", 0], ["demo", 1]]) {
    await newSession(page);
    await page.getByRole("combobox", { name: "Agent" }).selectOption(agent);
    await send(page, "/slow");
    await lastAnswer(page).locator(".prose").waitFor();
    await page.locator(".composer textarea").fill("Shorter, please");
    await page.getByRole("button", { name: "Queue", exact: true }).waitFor();
    assert.equal(await steer.count(), offered, agent);
    assert.equal(await page.locator(".composer", { hasText: "Ctrl+Enter steers" }).count(), offered, agent);
    await page.locator(".composer textarea").fill("");
    await stopButton(page).click();
    await idle(page);
  }
}));

// WEB-9 [browser]: a cold load stays under two mebibytes, uncompressed even.
test("a cold load is small", () => withMock({}, async (mock, context) => {
  const page = await openTab(context, mock.url);
  await connected(page);
  await page.waitForLoadState("networkidle");
  const sizes = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name, transferSize }) => [name, transferSize]));
  const bytes = sizes.reduce((sum, [, size]) => sum + size, 0);
  assert.ok(bytes > 200_000 && bytes <= 2_097_152, `${bytes} bytes`);
  for (const [name, size] of sizes) if (name.endsWith(".js")) assert.ok(size <= 358_400, `${name}: ${size}`);
}));

const HOSTILE = `<img src=x onerror=alert(1)> <script>alert(1)</script> <b onclick="x">bold</b>
[bad](javascript:alert(1)) [good](https://example.org/a?b=c) ![pic](https://example.org/p.png) ![bad](data:text/html,x) https://example.net`;

const GROWING = `# Heading

A paragraph with *emphasis*, **strong**, \`code\` and a [link](https://example.org).
Its second line.

Setext
======

- one
- two

  with a paragraph
  - nested

1. first
2. second

> quoted
lazy

| a | b |
|---|--:|
| 1 | 2 |

\`\`\`js
const x = 1;

# not a heading
\`\`\`

    indented

See [later][ref] and ~~gone~~.

---

[ref]: https://example.org/ref

Last paragraph.`;
