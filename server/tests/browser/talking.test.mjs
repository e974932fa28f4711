/** What a person meets while talking to an agent, against the server of `RUNWARDEN_URL` or the mock. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { connected, idle, lastAnswer, openTab, send, shot, stopButton, transcriptOf } from "./support.mjs";
import { context, page, useTab, wire } from "./tab.mjs";

useTab({ intercepts: true });

// AGT-05 [browser]: agent and model stand at each answer, and a later choice changes no earlier row.
test("agent and model are chosen before a session and between its runs", async () => {
  const agent = page.getByRole("combobox", { name: "Agent" });
  await agent.waitFor();
  const [first, second] = await agent.locator("option:enabled").evaluateAll((nodes) => nodes.map((node) => node.value));
  await agent.selectOption(second);
  await shot(page, "picker");
  await send(page, "Hello");
  await page.locator(".picker-why", { hasText: "Fixed while it runs" }).waitFor();
  assert.equal(await agent.isDisabled(), true);
  await idle(page);
  await agentsOf(page, [second]);
  await agent.selectOption(first);
  await page.locator(".picker-why", { hasText: "Changing" }).waitFor({ state: "hidden" });
  await send(page, "Hello again");
  await idle(page);
  await agentsOf(page, [second, first]);
  await page.reload();
  await connected(page);
  await agentsOf(page, [second, first]);
  assert.equal(await agent.inputValue(), first);
  await page.locator(".session-usage", { hasText: "Session:" }).waitFor();
  assert.ok(await page.locator(".answer-foot .row-usage", { hasText: "out" }).count() >= 2, "each row says what it used");
});

test("a plan is one card that is worked off, and tool cards fold", async () => {
  await send(page, "/plan");
  const plan = page.locator(".card.plan");
  await plan.waitFor();
  await page.locator(".notice-line", { hasText: "Mode:" }).waitFor();
  await plan.locator('.plan-entry[data-status="in_progress"]').waitFor();
  await plan.locator('.plan-progress', { hasText: "4 of 4 done" }).waitFor({ timeout: 20_000 });
  await idle(page);
  assert.equal(await plan.count(), 1);
  const tool = page.locator(".card.tool").first();
  assert.equal(await tool.locator(".card-body").isVisible(), false);
  await tool.locator("summary").click();
  await tool.getByText("It went as expected.").waitFor();
  const settled = await transcriptOf(page);
  await page.reload();
  await lastAnswer(page).waitFor();
  await plan.locator('.plan-progress', { hasText: "4 of 4 done" }).waitFor();
  assert.deepEqual(await transcriptOf(page), settled);
});

test("changes of files are shown by lines, with words for who cannot see colours", async () => {
  await send(page, "/diff");
  await page.locator(".diff").nth(1).waitFor();
  await idle(page);
  const change = page.locator(".diff").first();
  assert.match(await change.locator(".diff-line.removed").first().textContent(), /removed: .*(Hello!|greets? who)/i);
  assert.match(await change.locator(".diff-line.added").last().textContent(), /added: .*\{name\}/);
  assert.match(await change.locator("figcaption").textContent(), /\d+ lines added, \d+ removed/);
  await page.locator(".diff", { hasText: "new file" }).waitFor();
  assert.equal(await change.locator(".diff-gap").count() >= 1, true, "unchanged lines are folded");
  await page.locator(".card.tool summary").click();
  assert.equal(await change.isVisible(), false);
});

test("a long output shows its beginning, and the rest when asked", async () => {
  await send(page, "/long");
  await idle(page);
  const card = page.locator(".card.tool").first();
  await card.locator("summary").click();
  const output = card.getByLabel("Output");
  const lines = async () => (await output.textContent()).split("\n").length;
  assert.ok(await lines() < 30);
  await card.getByRole("button", { name: /Show all 400 lines/ }).click();
  assert.equal(await lines(), 400);
  await card.getByRole("button", { name: "Show less" }).click();
  assert.ok(await lines() < 30);
  await page.locator('.card.tool[data-status="failed"]').waitFor();
});

test("a permission has the agent's options in its order, and the choice reaches the agent", async () => {
  await send(page, "/permit");
  const card = page.locator(".question.approval");
  await card.waitFor();
  await shot(page, "permission");
  const options = card.locator(".question-options button");
  assert.deepEqual((await options.allTextContents()).map((text) => text.trim()), ["Allow once", "Always allow", "Reject", "Always reject"]);
  assert.deepEqual(await options.evaluateAll((nodes) => nodes.map((node) => node.dataset.meaning)), ["allow", "allow", "deny", "deny"]);
  const first = await card.locator(".question-status").textContent();
  assert.match(first, /left to answer/);
  await page.waitForFunction((text) => document.querySelector(".question-status").textContent !== text, first);
  await options.filter({ hasText: /^Reject$/ }).click();
  await page.locator('.question[data-outcome="answered"]', { hasText: "Answered: Reject" }).waitFor();
  await page.locator('.card.tool[data-status="failed"]').waitFor();
  await idle(page);
});

// ASK-06 [browser], LIST-7 [browser]: two open questions are answered apart, each closes everywhere at once, and one who comes late sees what is open.
test("two questions are independent in two windows", async () => {
  await send(page, "/ask2");
  await open(page).nth(1).waitFor();
  await shot(page, "two-questions");
  const other = await openTab(context, page.url());
  await open(other).nth(1).waitFor();
  const [parts, permission] = [".question:not(.approval)", ".question.approval"];
  await other.locator(parts).getByLabel("Figures").check();
  await other.locator(parts).getByLabel("Sources").check();
  await other.locator(parts).getByLabel("Your own answer").fill("a table");
  await other.locator(parts).getByRole("button", { name: "Answer" }).click();
  await other.locator(`${parts}[data-outcome="answered"]`, { hasText: "Figures, Sources, a table" }).waitFor();
  await page.locator(`${parts}[data-outcome="answered"]`, { hasText: "Answered in another window" }).waitFor();
  for (const tab of [page, other]) assert.equal(await tab.locator(`${permission}[data-outcome="open"]`).count(), 1);
  const late = await openTab(context, page.url());
  await open(late).waitFor();
  assert.equal(await open(late).count(), 1);
  await late.getByRole("button", { name: "Yes" }).click();
  await Promise.all([page, other, late].map((tab) => idle(tab)));
  for (const tab of [page, other, late]) await tab.locator(".prose", { hasText: "table" }).waitFor();
  assert.deepEqual([...other.problems, ...late.problems], []);
  await Promise.all([other.close(), late.close()]);
});

// ASK-07 [browser]: neither a reload nor a lost connection ends a question.
test("a question survives a reload and a lost connection", async () => {
  await send(page, "/permit");
  await open(page).waitFor();
  await page.reload();
  await open(page).waitFor();
  wire.refusing = true;
  await wire.cut();
  await page.locator('.badge[data-condition="reconnecting"]').waitFor();
  assert.equal(await open(page).count(), 1, "it stays on screen");
  wire.refusing = false;
  await page.evaluate(() => window.dispatchEvent(new Event("online")));
  await connected(page, 40_000);
  await open(page).getByRole("button", { name: "Allow once" }).click();
  await page.locator('.card.tool[data-status="done"]').waitFor();
  await idle(page);
});

test("a slow stop is said in words, and the session is free when the agent has ended", async () => {
  await send(page, "/wedge");
  await lastAnswer(page).locator(".prose").waitFor();
  await stopButton(page).click();
  await page.locator('.entry.divider[data-marker="cancelled"]').waitFor({ timeout: 15_000 });
  await page.locator(".tray", { hasText: "winding down" }).waitFor();
  await page.locator(".tray .winding").waitFor({ state: "hidden", timeout: 15_000 });
  await send(page, "Next");
  await idle(page);
});

function open(tab) {
  return tab.locator('.question[data-outcome="open"]');
}

/** Waits until the rows name these agents, oldest first. */
async function agentsOf(tab, agents) {
  await tab.waitForFunction((wanted) => {
    const named = [...document.querySelectorAll(".entry.answer .row-agent")].map((node) => node.textContent.split(" · ")[0]);
    return JSON.stringify(named) === JSON.stringify(wanted);
  }, agents);
}
