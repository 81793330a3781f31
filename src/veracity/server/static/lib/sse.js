// Server-sent events over fetch, with reconnection. EventSource cannot POST, and cannot tell an error response from a
// lost connection.
import { onConnection, reportStatus } from "./connection.js";
import { asApiError } from "./http.js";
/** @import { ApiError } from "./http.js" */
/** @import { ServerEvent, StreamState } from "./types.d.ts" */

const FIRST_DELAY = 500; // milliseconds
const MAX_DELAY = 15000;
const SILENCE_TIMEOUT = 50000; // the server sends something every 15 seconds

/**
 * Returns a parser that takes text in pieces of any size and emits whole events.
 * @param {(event: ServerEvent) => void} onEvent
 */
export function eventParser(onEvent) {
  let rest = "";
  let id = "";
  let kind = "message";
  /** @type {string[]} */
  let data = [];

  /** @param {string} line */
  function parseLine(line) {
    if (line === "") {
      if (data.length) onEvent({ id, kind, data: parseJson(data.join("\n")) });
      kind = "message";
      data = [];
      return;
    }
    const [, field, value] = /** @type {RegExpExecArray} */ (/^([^:]*):? ?(.*)$/.exec(line));
    if (field === "id") id = value;
    else if (field === "event") kind = value;
    else if (field === "data") data.push(value);
  }

  return function parse(/** @type {string} */ text) {
    rest += text;
    const end = rest.endsWith("\r") ? rest.length - 1 : rest.length; // its \n may still arrive
    const lines = rest.slice(0, end).split(/\r\n|\n|\r/);
    rest = lines.pop() + rest.slice(end);
    lines.forEach(parseLine);
  };
}

/** @param {string} text */
function parseJson(text) {
  try { return JSON.parse(text); } catch { return {}; }
}

/**
 * Reads until the stream ends or is silent for too long.
 * @param {Response} response
 * @param {(event: ServerEvent) => void} onEvent
 */
export async function readEvents(response, onEvent) {
  const parse = eventParser(onEvent);
  const body = /** @type {ReadableStream<BufferSource>} */ (response.body);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let timer = 0;
  try {
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(() => reader.cancel().catch(() => {}), SILENCE_TIMEOUT);
      const { done, value } = await reader.read();
      if (done) return;
      parse(value);
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Keeps a stream open and reconnects after the last event received, with backoff. `onEvent` returns true to end it.
 * @param {{
 *   open(lastEventId: string, signal: AbortSignal): Promise<Response>,
 *   lastEventId?: string,
 *   onEvent(event: ServerEvent): boolean | void,
 *   onState?(state: StreamState): void,
 *   onError?(error: ApiError): void,
 * }} options
 */
export function keepOpen({ open, lastEventId = "", onEvent, onState = () => {}, onError = () => {} }) {
  const abort = new AbortController();
  let delay = FIRST_DELAY;
  let isClosed = false;

  /** @param {ServerEvent} event */
  function receive(event) {
    if (isClosed) return;
    delay = FIRST_DELAY;
    lastEventId = event.id || lastEventId;
    if (onEvent(event)) close();
  }

  function close() {
    if (isClosed) return;
    isClosed = true;
    abort.abort();
    onState("closed");
  }

  async function connect() {
    const response = await open(lastEventId, abort.signal);
    reportStatus(response.status);
    onState("open");
    await readEvents(response, receive);
  }

  async function run() {
    while (!isClosed) {
      let pause = delay;
      try {
        await connect();
      } catch (thrown) {
        if (isClosed) return;
        const error = asApiError(thrown);
        reportStatus(error.status);
        if (!error.isRetryable) {
          close();
          onError(error);
          return;
        }
        pause = Math.max(delay, error.retryAfter * 1000);
      }
      if (isClosed) return;
      onState("reconnecting");
      delay = Math.min(delay * 2, MAX_DELAY);
      await sleep(pause * (0.75 + Math.random() / 2), abort.signal);
    }
  }

  run();
  return { stop: close };
}

/**
 * Waits, but not longer than until the network is back, or another stream has reached the server.
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function sleep(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      unsubscribe();
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    window.addEventListener("online", done);
    signal.addEventListener("abort", done);
    const unsubscribe = onConnection((isLost) => { if (!isLost) done(); });
  });
}
