// The address of the page: the part after "#".
/** @import { Route } from "./types.d.ts" */

/** @type {Record<string, string>} */
const VIEWS = { "": "ask", c: "ask", inbox: "inbox", conversations: "conversations", documents: "documents", evaluator: "evaluator", experiments: "experiments", runs: "run", admin: "admin" };
const NEEDS_ID = new Set(["c", "runs"]);
const TAKES_ID = new Set(["c", "runs", "inbox", "experiments", "documents", "admin"]);
const TAKES_OTHER = new Set(["experiments"]);

/** The view is "notFound" for an unknown address. @returns {Route} */
export function readRoute(hash = location.hash) {
  const path = hash.replace(/^#/, "") || "/";
  const [first = "", id = "", other = "", ...more] = path.replace(/^\//, "").split("/");
  const notFound = { view: "notFound", id: "", other: "", path };
  const isComplete = id || !NEEDS_ID.has(first);
  const isTooLong = more.length || (id && !TAKES_ID.has(first)) || (other && !TAKES_OTHER.has(first));
  if (!Object.hasOwn(VIEWS, first) || !isComplete || isTooLong) return notFound;
  try {
    return { view: VIEWS[first], id: decodeURIComponent(id), other: decodeURIComponent(other), path };
  } catch {
    return notFound;
  }
}

/** @param {string} path */
export function go(path) {
  location.hash = `#${path}`;
}

/** Changes the address without a new history entry. @param {string} path */
export function replaceRoute(path) {
  history.replaceState(null, "", `#${path}`);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Returns the token of a start-up address (#token=…), and removes it from the address and the history. */
export function takeToken() {
  const match = /^#token=([^&]+)/.exec(location.hash);
  if (!match) return "";
  replaceRoute("/");
  try { return decodeURIComponent(match[1]); } catch { return match[1]; }
}

/** @param {string} id */
export const conversationLink = (id) => `#/c/${encodeURIComponent(id)}`;
/** @param {string} id */
export const runLink = (id) => `#/runs/${encodeURIComponent(id)}`;
/** The receipt in the reader's language and time zone. @param {string} id */
export const receiptLink = (id) =>
  `/api/runs/${encodeURIComponent(id)}/page?${new URLSearchParams({ lang: document.documentElement.lang, zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}`;
/** @param {string} id */
export const approvalLink = (id) => `#/inbox/${encodeURIComponent(id)}`;
/** @param {string} id */
export const documentLink = (id) => `#/documents/${encodeURIComponent(id)}`;
/** @param {string} name */
export const experimentLink = (name) => `#/experiments/${encodeURIComponent(name)}`;
/** @param {string} b the newer one @param {string} a */
export const comparisonLink = (b, a) => `#/experiments/${encodeURIComponent(b)}/${encodeURIComponent(a)}`;
