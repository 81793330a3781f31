// Requests to the server, and its errors in the language of the page.
import { hasText, language, t } from "./i18n.js";

/** @typedef {{ kind: string, message: string, code?: string, values?: Record<string, string | number> }} ErrorDetail the body of an error response */

/** @type {Record<number, string>} */
const KINDS = { 403: "Forbidden", 404: "NotFoundError", 413: "TooLarge", 429: "TooMany", 500: "ServerError", 503: "Stopping" };
const RETRYABLE = new Set([0, 429, 500, 502, 503, 504]);

// The server writes its reasons in English. These have translations; others are shown as they are.
/** @type {[RegExp, string][]} */
const REASONS = [
  [/^Stopped by (?<name>.+)\.$/su, "stopped"],
  [/^it is empty$/u, "empty"],
  [/^Cancelled by (?<name>.+)\.$/su, "cancelled"],
  [/^it (?:holds|contains) no text\b[^(]*(?: \((?<detail>.+)\))?$/su, "noText"],
  [/^it holds no file that can be read\b(?: \((?<detail>.+)\))?$/su, "noFile"],
  [/^its format is not supported \((?<detail>.+)\)$/su, "format"],
  [/^it is not text\b/u, "binary"],
  [/^it is encrypted\b/u, "encrypted"],
  [/^it is (?:damaged: (?<detail>.+)|a damaged archive)$/su, "damaged"],
  [/^it unpacks to more than\b/u, "unpacked"],
  [/^it (?:is larger than|has more than the|has) (?<name>[\d.,]+) MB\b/u, "tooLarge"],
  [/^it (?:has|holds) more than\b/u, "tooMany"],
  [/^it took longer than\b/u, "slow"],
  [/^it needs more than .* of memory\b/u, "memory"],
  [/^the (?:process|workers) that read it\b/u, "crashed"],
  [/^another file of this upload has the same name\b/u, "sameName"],
  [/^it was removed before it was indexed$/u, "removed"],
  [/^it cannot be read(?: \((?<detail>.+)\))?$/su, "unreadable"],
];
const KEPT = "; the previous version is kept";

/** An error response, or status 0 and kind "Offline" when the server is unreachable. */
export class ApiError extends Error {
  /** @param {number} status @param {string} kind @param {string} message @param {number} retryAfter seconds */
  constructor(status, kind, message, retryAfter = 0) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.kind = kind;
    this.retryAfter = retryAfter;
    this.isRetryable = RETRYABLE.has(status);
  }
}

export const offlineError = () => new ApiError(0, "Offline", t("shell.offline"));

/** Whatever was thrown as an ApiError. @param {unknown} error */
export const asApiError = (error) => (error instanceof ApiError ? error : new ApiError(0, "Error", String(error)));

/** @type {Set<() => void>} */
const signedOutListeners = new Set();

/** Calls the handler on every 401. Returns a function that unsubscribes. @param {() => void} handler */
export function onSignedOut(handler) {
  signedOutListeners.add(handler);
  return () => { signedOutListeners.delete(handler); };
}

/** The error for an error response. @param {number} status @param {string} body @param {string | null} retryAfter */
export function errorFrom(status, body, retryAfter) {
  /** @type {Partial<ErrorDetail>} */
  let error = {};
  try { error = JSON.parse(body).error || error; } catch { /* not from the server, but from a proxy in between */ }
  const kind = error.kind || KINDS[status] || "Error";
  const seconds = Number(retryAfter) || 0;
  const message = status === 401 ? t("shell.signedOut") : describe({ ...error, kind }, seconds) || `HTTP ${status}`;
  if (status === 401) signedOutListeners.forEach((listener) => listener());
  return new ApiError(status, kind, message, seconds);
}

/**
 * Prefers the server's own, more precise message where it is in the reader's language. A code is more precise than a kind.
 * @param {Partial<ErrorDetail>} error
 * @param {number} seconds
 */
function describe({ kind, message = "", code, values }, seconds) {
  if (message && language() === "en") return message;
  if (code && hasText(`shell.wrong.${code}`)) return t(`shell.wrong.${code}`, values ?? {});
  return hasText(`shell.refused.${kind}`) ? t(`shell.refused.${kind}`, { n: Math.max(1, seconds) }) : message;
}

/** Why a run or a file failed, as a sentence, translated as far as possible. @param {string} reason @returns {string} */
export function translateReason(reason) {
  if (language() === "en") return asSentence(reason);
  if (reason.endsWith(KEPT)) return t("shell.sentences", { one: translateReason(reason.slice(0, -KEPT.length)), other: t("shell.reason.kept") });
  for (const [pattern, key] of REASONS) {
    const match = pattern.exec(reason);
    if (!match) continue;
    const { name = "", detail = "" } = match.groups ?? {};
    const text = t(`shell.reason.${key}`, { name });
    return detail ? t("shell.reason.detail", { reason: text, detail }) : text;
  }
  return asSentence(reason);
}

/** Reasons follow a colon on the command line, and stand alone on the page. @param {string} text */
function asSentence(text) {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return !text || /[.!?。！？]$/u.test(text) ? sentence : `${sentence}.`;
}

/**
 * Sends a request. Throws an ApiError for an error response, and an AbortError when `signal` aborts it.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal }} options
 */
export async function send(method, path, { body, headers = {}, signal } = {}) {
  /** @type {RequestInit & { headers: Record<string, string> }} */
  const options = { method, headers: { Accept: "application/json", ...headers }, signal, credentials: "same-origin" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw offlineError();
  }
  if (!response.ok) throw errorFrom(response.status, await response.text(), response.headers.get("Retry-After"));
  return response;
}

/** @param {Response} response @returns {Promise<any>} */
async function parseBody(response) {
  return response.status === 204 ? null : response.json();
}

/** @param {string} path */
export const get = async (path) => parseBody(await send("GET", path));
/** @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers] */
export const post = async (path, body, headers) => parseBody(await send("POST", path, { body, headers }));
/** @param {string} path @param {unknown} body */
export const put = async (path, body) => parseBody(await send("PUT", path, { body }));
/** @param {string} path @param {unknown} body */
export const patch = async (path, body) => parseBody(await send("PATCH", path, { body }));
/** @param {string} path */
export const del = async (path) => parseBody(await send("DELETE", path));

/** @param {string} token */
export const signIn = (token) => post("/api/session", { token });
export const signOut = () => del("/api/session");

/**
 * Opens an event stream that continues after an event.
 * @param {string} path
 * @param {string} lastEventId
 * @param {AbortSignal} signal
 */
export function openEvents(path, lastEventId, signal) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "text/event-stream" };
  if (lastEventId) headers["Last-Event-ID"] = lastEventId;
  return send("GET", path, { headers, signal });
}
