/** A hand on the wire between page and server: cuts it, holds it, and changes what passes. */

/** Puts itself between the page and its socket; call before the page loads. */
export async function intercept(page) {
  const wire = new Wire();
  await page.routeWebSocket(/\/v1\/ws$/, (socket) => wire.take(socket));
  return wire;
}

class Wire {
  constructor() {
    this.opened = 0;
    this.live = new Set();
    this.sent = [];
    /** While true, new connections are closed at once. */
    this.refusing = false;
    /** While true, nothing reaches the page. */
    this.silent = false;
    /** Returns the action to pass on, or null. */
    this.up = (action) => action;
    /** Returns the frame to pass on, or null. */
    this.down = (frame) => frame;
  }

  take(socket) {
    this.opened += 1;
    if (this.refusing) return socket.close({ code: 1001, reason: "stopping" });
    this.live.add(socket);
    const server = socket.connectToServer();
    this.socket = socket;
    this.server = server;
    socket.onMessage((text) => {
      const action = JSON.parse(text);
      this.sent.push(action);
      const passed = this.up(action);
      if (passed !== null) server.send(JSON.stringify(passed));
    });
    server.onMessage((text) => {
      const frame = JSON.parse(text);
      const passed = this.silent ? null : this.down(frame);
      if (passed !== null) socket.send(JSON.stringify(passed));
    });
    const ended = () => this.live.delete(socket);
    socket.onClose(() => { ended(); server.close(); });
    server.onClose((code, reason) => { ended(); socket.close({ code, reason }); });
    return undefined;
  }

  /** Sends a frame to the page as if the server had. */
  push(type, data) {
    this.socket.send(JSON.stringify({ type, data }));
  }

  /** Cuts the connection. */
  async cut(code = 1001, reason = "stopping") {
    await this.socket.close({ code, reason });
    await this.server.close().catch(() => {});
  }

  /** Number of connections open now. */
  get open() {
    return this.live.size;
  }

  /** How often the page sent an action. */
  count(action) {
    return this.sent.filter((each) => each.action === action).length;
  }
}
