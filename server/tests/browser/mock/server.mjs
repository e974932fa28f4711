/**
 * A small server that speaks the frames of protocol 1 from memory, for work on the page without
 * the real server. `node mock/server.mjs [port]` prints its URL.
 */

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";
import { Peer } from "./peer.mjs";
import { MockStore } from "./store.mjs";

const ASSETS = fileURLToPath(new URL("../../../assets/", import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8" };
export const CONTENT_SECURITY_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Starts a mock. `base` is the base path, with a slash at both ends. */
export async function startMock({ port = 0, base = "/", build = "mock" } = {}) {
  const token = randomBytes(8).toString("hex");
  const cookies = new Set();
  const store = new MockStore();
  const requests = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method, url: request.url });
    serve({ token, cookies, base, build }, request, response).catch(() => response.writeHead(500).end());
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    if (request.url !== `${base}v1/ws`) return socket.destroy();
    sockets.handleUpgrade(request, socket, head, (ws) => {
      if (!cookies.has(cookieOf(request))) return ws.close(1008, "unauthorized");
      store.peers.add(new Peer(store, ws, build));
    });
  });
  await new Promise((ready) => server.listen(port, "127.0.0.1", ready));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin, token, store, requests,
    url: `${origin}${base}#token=${token}`,
    forgetLogins: () => cookies.clear(),
    dropAll: (code = 1001) => { for (const peer of store.peers) peer.socket.close(code, "stopping"); },
    close: () => { for (const peer of store.peers) peer.socket.terminate(); store.close(); server.closeAllConnections(); server.close(); },
  };
}

async function serve({ token, cookies, base, build }, request, response) {
  const path = new URL(request.url, "http://mock").pathname;
  if (!path.startsWith(base)) return response.writeHead(404).end();
  const name = path.slice(base.length);
  if (name === "v1/login" && request.method === "POST") return login({ token, cookies, base }, request, response);
  if (name === "v1/logout" && request.method === "POST") {
    cookies.delete(cookieOf(request));
    return response.writeHead(204).end();
  }
  if (name.startsWith("v1/")) return response.writeHead(404).end();
  const file = name === "" ? "index.html" : normalize(name).replace(/^(\.\.\/?)+/, "");
  let body;
  try {
    body = await readFile(join(ASSETS, file));
  } catch {
    return response.writeHead(404).end();
  }
  if (file === "index.html") body = String(body).replace("__RUNWARDEN_BUILD__", build);
  return response.writeHead(200, {
    "content-type": TYPES[extname(file)] ?? "application/octet-stream",
    "content-security-policy": CONTENT_SECURITY_POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
  }).end(body);
}

async function login({ token, cookies, base }, request, response) {
  let text = "";
  for await (const chunk of request) text += chunk;
  if (JSON.parse(text).token !== token) return response.writeHead(401).end();
  const value = randomBytes(16).toString("hex");
  cookies.add(value);
  return response.writeHead(204, { "set-cookie": `runwarden=${value}; HttpOnly; SameSite=Strict; Path=${base}` }).end();
}

function cookieOf(request) {
  return /runwarden=([0-9a-f]+)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startMock({ port: Number(process.argv[2] ?? 0) });
  console.log(mock.url);
}
