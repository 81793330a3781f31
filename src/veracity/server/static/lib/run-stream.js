// Starts runs and follows their events, live or finished.
import { ApiError, offlineError, openEvents, send } from "./http.js";
import { keepOpen, readEvents } from "./sse.js";
/** @import { ServerEvent, StreamHandlers } from "./types.d.ts" */

const LAST_EVENTS = new Set(["answer", "failed"]);

/**
 * Follows a run after an event. The last event is "answer" or "failed".
 * @param {string} runId
 * @param {StreamHandlers & { lastEventId?: string }} handlers
 */
export function followRun(runId, { lastEventId = "", onEvent, onState, onError }) {
  return keepOpen({
    open: (last, signal) => openEvents(`/api/runs/${encodeURIComponent(runId)}/events`, last, signal),
    lastEventId,
    onEvent: ({ id, data }) => {
      onEvent({ ...data, id });
      return LAST_EVENTS.has(data.kind);
    },
    onState,
    onError,
  });
}

/**
 * Asks a question and follows its run. Errors before the run exists go to `onError`; asking again with the same
 * idempotency key is safe.
 * @param {{ question: string, conversation: string, only: string[] }} body
 * @param {string} idempotencyKey
 * @param {StreamHandlers} handlers
 */
export function startRun(body, idempotencyKey, { onEvent, onState = () => {}, onError = () => {} }) {
  const abort = new AbortController();
  const headers = { Accept: "text/event-stream", "Idempotency-Key": idempotencyKey };
  let runId = "";
  let lastEventId = "";
  let isOver = false;
  /** @type {{ stop(): void } | null} */
  let following = null;

  /** @param {ServerEvent} event */
  function receive({ id, data }) {
    if (isOver) return;
    runId = data.run_id || runId;
    lastEventId = id || lastEventId;
    isOver = LAST_EVENTS.has(data.kind);
    onEvent({ ...data, id });
    if (isOver) onState("closed");
  }

  async function start() {
    let error = offlineError();
    try {
      const response = await send("POST", "/api/ask", { body, headers, signal: abort.signal });
      runId = response.headers.get("X-Veracity-Run") || "";
      onEvent({ kind: "accepted", run_id: runId });
      onState("open");
      await readEvents(response, receive);
    } catch (thrown) {
      if (thrown instanceof ApiError) error = thrown;
    }
    if (isOver) return;
    if (runId) {
      onState("reconnecting");
      following = followRun(runId, { lastEventId, onEvent, onState, onError });
    } else {
      isOver = true;
      onState("closed");
      onError(error);
    }
  }

  start();
  return {
    stop() {
      isOver = true;
      abort.abort();
      following?.stop();
    },
  };
}
