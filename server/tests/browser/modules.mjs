/** Loads the pure modules of the page into Node, which has no `package.json` beside them to read. */

import { register } from "node:module";

const HOOKS = `export async function load(url, context, next) {
  return next(url, url.includes("/assets/js/") ? { ...context, format: "module" } : context);
}`;

register(`data:text/javascript,${encodeURIComponent(HOOKS)}`);

const load = (name) => import(new URL(`../../assets/js/${name}.js`, import.meta.url).href);

export const reconnect = await load("reconnect");
export const requests = await load("requests");
export const scene = await load("scene");
export const projection = await load("projection");
export const timeline = await load("timeline");
export const history = await load("history");
export const errors = await load("errors");
export const sessions = await load("sessions");
export const diff = await load("diff");
export const queue = await load("queue");
export const steers = await load("steers");
export const agents = await load("agents");
export const words = { ...(await load("ui/states")), ...(await load("ui/question")), ...(await load("ui/format")), ...(await load("ui/longtext")) };
