/** Small helpers to build and reconcile document nodes. */

const SVG = "http://www.w3.org/2000/svg";

const PATHS = {
  plus: ["M8 3v10", "M3 8h10"],
  menu: ["M2.5 4.5h11", "M2.5 8h11", "M2.5 11.5h11"],
  close: ["M4 4l8 8", "M12 4l-8 8"],
  send: ["M8 13V3.5", "M3.8 7.4 8 3.2l4.2 4.2"],
  stop: ["M4.5 4.5h7v7h-7z"],
  down: ["M8 3v9.5", "M3.8 8.6 8 12.8l4.2-4.2"],
  chevron: ["M6 4l4 4-4 4"],
  check: ["M3.5 8.5l3 3 6-7"],
  cross: ["M4.5 4.5l7 7", "M11.5 4.5l-7 7"],
  alert: ["M8 2.2 14.3 13.4H1.7z", "M8 6.6v3", "M8 11.4v.1"],
  question: ["M5.9 6a2.1 2.1 0 1 1 3 1.9c-.6.3-.9.7-.9 1.4", "M8 11.6v.1", "M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8z"],
  thought: ["M8 2.2c3.4 0 6 2.1 6 4.8s-2.6 4.8-6 4.8c-.6 0-1.2-.1-1.8-.2L3.2 13.6l.6-3C2.7 9.7 2 8.4 2 7c0-2.7 2.6-4.8 6-4.8z"],
  tool: ["M9.6 3.2a3.3 3.3 0 0 0-4 4.3L2.4 10.7a1.3 1.3 0 0 0 0 1.9l1 1a1.3 1.3 0 0 0 1.9 0l3.2-3.2a3.3 3.3 0 0 0 4.3-4L10.7 8.5 8.3 7.7 7.5 5.3z"],
  list: ["M2.6 4.4l1 1 1.7-2", "M2.6 10.8l1 1 1.7-2", "M7.6 4.6h6", "M7.6 11h6"],
  note: ["M8 7.2v4.2", "M8 4.6v.1", "M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8z"],
  steer: ["M3 13V9.5A3.5 3.5 0 0 1 6.5 6H13", "M9.8 2.8 13 6l-3.2 3.2"],
  shield: ["M8 1.9l5 1.8v4c0 3.2-2.1 5.4-5 6.4-2.9-1-5-3.2-5-6.4v-4z"],
  edit: ["M3 13l.6-2.6 7-7a1.3 1.3 0 0 1 1.8 0l.2.2a1.3 1.3 0 0 1 0 1.8l-7 7z"],
  copy: ["M5.5 5.5h7v8h-7z", "M10.5 5.5v-3h-7v8h2"],
  image: ["M2.5 3h11v10h-11z", "M2.5 11l3.5-3.5 2.5 2.5 2-2 3 3"],
  redo: ["M13 8a5 5 0 1 1-1.6-3.7", "M13 2.5v3h-3"],
  undo: ["M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6", "M5.8 3.5 3 6.5l2.8 3"],
  more: ["M3.5 8h.1", "M8 8h.1", "M12.5 8h.1"],
  archive: ["M2.5 3h11v3h-11z", "M3.5 6v7h9V6", "M6.5 8.8h3"],
  trash: ["M3 4.5h10", "M6 4.5v-2h4v2", "M4.5 4.5l.6 9h5.8l.6-9"],
  exit: ["M6.5 2.5h-4v11h4", "M6.5 8h7", "M10.8 5.2 13.6 8l-2.8 2.8"],
};

/** Builds an element. Properties starting with `on` are listeners, null and false are left out. */
export function h(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === false || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** A line icon, hidden from assistive technology. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", class: `icon icon-${name}`, "aria-hidden": "true", focusable: "false" })) {
    svg.setAttribute(key, value);
  }
  for (const d of PATHS[name]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}

/** Sets text only when it differs, so that nothing is announced or laid out twice. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Sets or removes an attribute only when it differs. */
export function setAttribute(node, name, value) {
  if (value === null || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** Shows or hides a node. */
export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

/**
 * Keeps the children of a node equal to a list of entries with `key` and `version`. `create(entry)`
 * returns a view with `node` and `update(entry)`; an unchanged version is not updated.
 */
export class Keyed {
  #views = new Map();

  constructor(parent, create) {
    this.parent = parent;
    this.create = create;
  }

  get(key) {
    return this.#views.get(key)?.view ?? null;
  }

  /** Gives a view another key, so that it goes on as another entry. */
  rename(from, to) {
    const held = this.#views.get(from);
    this.#views.delete(from);
    this.#views.set(to, { ...held, version: null });
  }

  keys() {
    return [...this.#views.keys()];
  }

  /** Takes the new list. Returns whether anything changed. */
  update(entries) {
    let changed = this.#removeOthers(new Set(entries.map((entry) => entry.key)));
    let at = this.parent.firstChild;
    for (const entry of entries) {
      let held = this.#views.get(entry.key);
      if (!held) {
        held = { view: this.create(entry), version: null };
        this.#views.set(entry.key, held);
      }
      if (held.version !== entry.version || entry.version === undefined) {
        held.version = entry.version;
        held.view.update(entry);
        changed = true;
      }
      if (held.view.node === at) at = at.nextSibling;
      else this.parent.insertBefore(held.view.node, at);
    }
    return changed;
  }

  #removeOthers(keys) {
    let changed = false;
    for (const [key, { view }] of this.#views) {
      if (keys.has(key)) continue;
      view.node.remove();
      this.#views.delete(key);
      changed = true;
    }
    return changed;
  }
}
