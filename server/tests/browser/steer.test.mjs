/** Steers of a running answer, against the server of `RUNWARDEN_URL` or the mock. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { idle, lastAnswer, send, shot, stopButton } from "./support.mjs";
import { page, useTab, wire } from "./tab.mjs";

useTab({ intercepts: true });

// STR-02 [browser]: a refused steer comes back as draft and changes nothing.
test("a steer that is refused is a draft again", async () => {
  await send(page, "/slow");
  await lastAnswer(page).locator(".prose").waitFor();
  wire.up = (action) => (action.action === "steer_run" ? { ...action, run_id: "run_of_nobody" } : action);
  const field = page.locator(".composer textarea");
  await field.fill("Shorter, please");
  await field.press("Control+Enter");
  await page.locator(".composer > .control-notice", { hasText: "Not steered" }).waitFor();
  assert.equal(await field.inputValue(), "Shorter, please");
  assert.equal(await page.locator(".steer").count(), 0);
  assert.equal(await page.locator(".queue").isVisible(), false);
  assert.equal(await page.locator(".toast, .card.error").count(), 0);
  const length = (await lastAnswer(page).locator(".prose").first().textContent()).length;
  await page.waitForFunction((known) => document.querySelector(".entry.answer:last-child .prose").textContent.length > known, length);
  await stopButton(page).click();
  await idle(page);
});

test("a steer is shown until the agent reads it, and one nobody read comes back", async () => {
  await send(page, "/slow");
  await lastAnswer(page).locator(".prose").waitFor();
  const field = page.locator(".composer textarea");
  await field.fill("Shorter, please");
  await page.getByRole("button", { name: "Steer" }).click();
  await page.locator(".steer", { hasText: "Shorter, please" }).filter({ hasText: "read by the agent" }).waitFor();
  assert.equal(await field.inputValue(), "");
  await stopButton(page).click();
  await idle(page);
  await send(page, "/wedge");
  await page.locator(".entry.answer").nth(1).locator(".prose").waitFor();
  await field.fill("Are you there?");
  await field.press("Control+Enter");
  await page.locator(".steer", { hasText: "waits until the agent reads it" }).waitFor();
  await stopButton(page).click();
  const returned = page.locator(".returned", { hasText: "Are you there?" });
  await returned.waitFor({ timeout: 15_000 });
  await shot(page, "returned");
  await returned.getByRole("button", { name: "Use as message" }).click();
  await returned.waitFor({ state: "detached" });
  assert.equal(await field.inputValue(), "Are you there?");
});
