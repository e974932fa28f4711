/** Where the page lives: its base path, the token and the session in its address (PRIN-9, EDGE-6). */

const LAST_SESSION_KEY = "runwarden.session";

/** Absolute URL of a path relative to the base path of the page. */
export function urlOf(path) {
  return new URL(path, document.baseURI);
}

/** Address of the WebSocket. */
export function socketUrl() {
  const url = urlOf("v1/ws");
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}

/** Takes the token from the fragment, once, and removes it from the address. */
export function takeToken() {
  const fragment = fields();
  const token = fragment.get("token");
  if (token === null) return null;
  fragment.delete("token");
  replace(fragment);
  return token;
}

/** The session named in the address, or null. */
export function addressedSession() {
  return fields().get("session");
}

/** The session named in the address, else the one this browser showed last. */
export function placedSession() {
  return addressedSession() ?? read(LAST_SESSION_KEY);
}

/** Puts the session into the address; `push` adds a step to the browser's history. */
export function placeSession(sessionId, push) {
  const fragment = fields();
  if (fragment.get("session") === sessionId) return;
  if (sessionId === null) fragment.delete("session");
  else fragment.set("session", sessionId);
  if (push) history.pushState(null, "", address(fragment));
  else replace(fragment);
  write(LAST_SESSION_KEY, sessionId);
}

/** The build this page belongs to, or null when it was not filled in. */
export function pageBuild() {
  const build = document.querySelector('meta[name="runwarden-build"]')?.content ?? "";
  return build === "" || build.startsWith("__") ? null : build;
}

function fields() {
  return new URLSearchParams(location.hash.replace(/^#/, ""));
}

function replace(fragment) {
  history.replaceState(null, "", address(fragment));
}

function address(fragment) {
  const text = fragment.toString();
  return text === "" ? location.pathname + location.search : `#${text}`;
}

function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Without storage the address alone remembers the session.
  }
}
