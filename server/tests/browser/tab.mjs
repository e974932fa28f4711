/** A signed-in tab with a new session for each test of a file. */

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import { connected, launch, newSession, openTab, openWindow, target } from "./support.mjs";
import { intercept } from "./wire.mjs";

export let browser;
export let server;
export let context;
export let page;
/** What goes between the page and the server, where a file asked for it. */
export let wire;

/** Registers the hooks of the file. With `intercepts` a test can cut, hold back and change frames through `wire`. */
export function useTab({ intercepts = false } = {}) {
  before(async () => {
    browser = await launch();
    server = await target();
    const first = await openWindow(browser, server.url);
    ({ context } = first);
    await connected(first.page);
    await first.page.close();
  });

  after(async () => {
    await browser?.close();
    server?.close();
  });

  beforeEach(async () => {
    page = await openTab(context, server.url.split("#")[0], async (tab) => {
      if (intercepts) wire = await intercept(tab);
    });
    await newSession(page);
  });

  afterEach(async () => {
    assert.deepEqual(page.problems, []);
    await page.close();
  });
}
