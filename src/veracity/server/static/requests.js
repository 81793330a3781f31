// Requests to the server and its refusals, as values and as errors. Knows nothing about what is asked for.
import { known, language, t } from "./i18n.js";

const KINDS = { 403: "Forbidden", 404: "NotFoundError", 413: "TooLarge", 429: "TooMany", 500: "ServerError", 503: "Stopping" };
const PASSING = new Set([0, 429, 500, 502, 503, 504]); // statuses that may be gone at the next attempt

// A refusal of the server, or status 0 and kind "Offline" when it cannot be reached.
export class ApiError extends Error {
  constructor(status, kind, message, retryAfter = 0) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.kind = kind;
    this.retryAfter = retryAfter;
    this.retriable = PASSING.has(status);
  }
}

export const offline = () => new ApiError(0, "Offline", t("shell.offline"));

const sessionListeners = new Set();

// Calls the handler whenever the server says that nobody is signed in. Returns how to stop that.
export function onSignedOut(handler) {
  sessionListeners.add(handler);
  return () => sessionListeners.delete(handler);
}

export function refusal(status, text, retryAfter) {
  let error = {};
  try { error = JSON.parse(text).error || {}; } catch { /* not ours: a proxy in between */ }
  const kind = error.kind || KINDS[status] || "Error";
  const seconds = Number(retryAfter) || 0;
  const message = status === 401 ? t("shell.signedOut") : sentence(kind, error.message || "", seconds) || `HTTP ${status}`;
  const problem = new ApiError(status, kind, message, seconds);
  if (status === 401) sessionListeners.forEach((listener) => listener(problem));
  return problem;
}

// The server speaks English, and tells more than there are words for here.
function sentence(kind, message, seconds) {
  const key = `shell.refused.${kind}`;
  if (!known(key) || (message && language() === "en")) return message;
  return t(key, { n: Math.max(1, seconds) });
}

export async function send(method, path, { body, headers = {}, signal } = {}) {
  const options = { method, headers: { Accept: "application/json", ...headers }, signal, credentials: "same-origin" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw offline();
  }
  if (!response.ok) throw refusal(response.status, await response.text(), response.headers.get("Retry-After"));
  return response;
}

export function eventsOf(path, after, signal) {
  const headers = { Accept: "text/event-stream" };
  if (after) headers["Last-Event-ID"] = after;
  return send("GET", path, { headers, signal });
}
