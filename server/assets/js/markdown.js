/**
 * Markdown as document nodes. The vendored parser makes tokens; every node is built here from an
 * allow-list, so that content never becomes markup (WEB-4, WEB-5). The parser loads on its own and
 * nothing waits for it (WEB-2); until then text is shown as it is.
 */

import { h, icon } from "./ui/dom.js";

const TAGS = new Map([
  ["p", "p"], ["h1", "h3"], ["h2", "h3"], ["h3", "h4"], ["h4", "h5"], ["h5", "h6"], ["h6", "h6"],
  ["ul", "ul"], ["ol", "ol"], ["li", "li"], ["blockquote", "blockquote"], ["table", "table"],
  ["thead", "thead"], ["tbody", "tbody"], ["tr", "tr"], ["th", "th"], ["td", "td"],
  ["strong", "strong"], ["em", "em"], ["s", "s"],
]);
const SCHEMES = ["http:", "https:", "mailto:"];
const REFERENCE_DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

let parser = null;
const waiting = new Set();

/** Loads the parser and draws what was shown as plain text meanwhile. */
export async function loadMarkdown() {
  const { default: MarkdownIt } = await import("../vendor/markdown-it/markdown-it.js");
  parser = new MarkdownIt({ html: false, linkify: true, breaks: false });
  for (const redraw of waiting) redraw();
  waiting.clear();
}

/**
 * Text that may still grow. Blocks that can no longer change keep their nodes; only the last block
 * is parsed and drawn again.
 */
export class MarkdownView {
  #source = "";
  #frozen = 0;
  #tail = [];
  #parsed = false;
  #redraw = null;

  constructor(node) {
    this.node = node;
  }

  /** Shows `text`; `final` text is drawn whole where a later line could change an earlier one. */
  update(text, final) {
    const normal = text.replace(/\r\n?/g, "\n");
    if (parser === null) {
      this.node.replaceChildren(h("p", { class: "plain" }, normal));
      waiting.delete(this.#redraw);
      this.#redraw = () => this.update(text, final);
      waiting.add(this.#redraw);
      return;
    }
    if (normal === this.#source && this.#parsed && !final) return;
    const whole = !this.#parsed || !normal.startsWith(this.#source) || (final && REFERENCE_DEFINITION.test(normal));
    if (whole) this.#reset();
    else if (normal === this.#source) return;
    this.#source = normal;
    this.#parsed = true;
    this.#draw(normal.slice(this.#frozen));
  }

  #reset() {
    this.node.replaceChildren();
    this.#frozen = 0;
    this.#tail = [];
  }

  #draw(text) {
    const blocks = blocksOf(parser.parse(text, {}));
    for (const node of this.#tail) node.remove();
    this.#tail = [];
    blocks.forEach((block, index) => {
      const holder = document.createDocumentFragment();
      build(block.tokens, holder);
      if (index === blocks.length - 1) this.#tail = [...holder.childNodes];
      this.node.append(holder);
    });
    const last = blocks.at(-1);
    if (blocks.length > 1 && last.line > 0) this.#frozen += offsetOfLine(text, last.line);
  }
}

/** Tokens grouped into top-level blocks with the line each begins at. */
function blocksOf(tokens) {
  const blocks = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0) blocks.push({ line: token.map?.[0] ?? 0, tokens: [] });
    blocks.at(-1)?.tokens.push(token);
  }
  return blocks;
}

function offsetOfLine(text, line) {
  let at = 0;
  for (let i = 0; i < line; i += 1) at = text.indexOf("\n", at) + 1;
  return at;
}

function build(tokens, root) {
  const open = [root];
  for (const token of tokens) {
    const top = open.at(-1);
    if (token.nesting === 1) open.push(token.hidden ? top : opened(token, top));
    else if (token.nesting === -1) open.pop();
    else leaf(token, top);
  }
}

function opened(token, parent) {
  if (token.type === "link_open") return link(token, parent);
  const tag = TAGS.get(token.tag);
  const node = document.createElement(tag ?? "span");
  if (tag === "ol" && token.attrGet("start") !== null) node.start = Number(token.attrGet("start"));
  const align = /text-align:(left|right|center)/.exec(token.attrGet("style") ?? "");
  if (align) node.className = `align-${align[1]}`;
  parent.append(tag === "table" ? h("div", { class: "table-scroll", tabindex: "0", role: "group", "aria-label": "Table" }, node) : node);
  return node;
}

function link(token, parent) {
  const href = safeUrl(token.attrGet("href"));
  const node = href === null ? h("span", {}) : h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" });
  const title = token.attrGet("title");
  if (title) node.title = title;
  parent.append(node);
  return node;
}

function leaf(token, parent) {
  switch (token.type) {
    case "inline":
      build(token.children, parent);
      break;
    case "softbreak":
      parent.append("\n");
      break;
    case "hardbreak":
      parent.append(document.createElement("br"));
      break;
    case "hr":
      parent.append(document.createElement("hr"));
      break;
    case "code_inline":
      parent.append(h("code", {}, token.content));
      break;
    case "fence":
    case "code_block":
      parent.append(codeBlock(token.content, token.info?.trim().split(/\s+/)[0] ?? ""));
      break;
    case "image":
      image(token, parent);
      break;
    default:
      parent.append(token.content);
  }
}

/** Foreign images are never loaded: they are shown as links. */
function image(token, parent) {
  const href = safeUrl(token.attrGet("src"));
  const label = token.content === "" ? "image" : token.content;
  if (href === null) parent.append(label);
  else parent.append(h("a", { class: "image-link", href, target: "_blank", rel: "noopener noreferrer nofollow" }, icon("image"), label));
}

function codeBlock(text, language) {
  const code = h("code", {}, text.replace(/\n$/, ""));
  return h("figure", { class: "code" },
    h("figcaption", {},
      h("span", {}, language === "" ? "text" : language.slice(0, 32)),
      h("button", { type: "button", class: "quiet copy", "data-copy": "" }, icon("copy"), h("span", {}, "Copy"))),
    h("pre", { tabindex: "0" }, code));
}

function safeUrl(text) {
  try {
    const url = new URL(text);
    return SCHEMES.includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
