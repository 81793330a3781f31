// The feed of changes in the workspace: one connection for the whole page, and hooks for what depends on it.
import { useCallback, useEffect, useRef, useState } from "./preact.js";
import { asApiError, openEvents } from "./http.js";
import { keepOpen } from "./sse.js";
/** @import { ApiError } from "./http.js" */
/** @import { FeedEvents } from "./types.d.ts" */

const HIDDEN_TIMEOUT = 60000; // milliseconds; browsers allow few connections per server, so hidden tabs give theirs up

/** Subscribers get "hello" on every (re)connection: they may have missed events, so they reload then. */
class Feed {
  /** @type {Map<string, Set<(data: any) => void>>} */
  #handlers = new Map();
  /** @type {{ stop(): void } | null} */
  #stream = null;
  #isStarted = false;

  constructor() {
    let timer = 0;
    document.addEventListener("visibilitychange", () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => this.#close(), HIDDEN_TIMEOUT);
      else this.#open();
    });
  }

  /**
   * Subscribes to a kind of event. Returns a function that unsubscribes.
   * @template {keyof FeedEvents} Kind
   * @param {Kind} kind
   * @param {(data: FeedEvents[Kind]) => void} handler
   */
  on(kind, handler) {
    const handlers = this.#handlers.get(kind) ?? new Set();
    this.#handlers.set(kind, handlers.add(handler));
    return () => { handlers.delete(handler); };
  }

  /** Reports what the page itself has changed. @param {keyof FeedEvents} kind */
  announce(kind) {
    this.#emit(kind, {});
  }

  start() {
    this.#isStarted = true;
    this.#open();
  }

  stop() {
    this.#isStarted = false;
    this.#close();
  }

  #open() {
    if (this.#stream || !this.#isStarted) return;
    this.#stream = keepOpen({
      open: (lastEventId, signal) => openEvents("/api/events", lastEventId, signal),
      onEvent: ({ kind, data }) => { this.#emit(kind, data); },
      onState: (state) => this.#emit("state", state),
      onError: () => { this.#stream = null; },
    });
  }

  #close() {
    this.#stream?.stop();
    this.#stream = null;
  }

  /** @param {string} kind @param {unknown} data */
  #emit(kind, data) {
    this.#handlers.get(kind)?.forEach((handler) => handler(data));
  }
}

export const feed = new Feed();

/**
 * Calls `handler` once after a burst of "documents" or "hello" events.
 * @param {() => void} handler
 * @param {number} milliseconds
 */
export function useDocumentEvents(handler, milliseconds) {
  useEffect(() => {
    let timer = 0;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(handler, milliseconds);
    };
    const unsubscribe = [feed.on("documents", later), feed.on("hello", later)];
    return () => {
      clearTimeout(timer);
      unsubscribe.forEach((off) => off());
    };
  }, [handler]);
}

/**
 * Loads a value, again when an input changes, and after a failure when the feed reconnects. Drops late results.
 * @template Value
 * @param {() => Promise<Value>} load
 * @param {unknown[]} inputs
 * @returns {{ value: Value | null, error: ApiError | null, reload: () => Promise<void> }}
 */
export function useLoaded(load, inputs) {
  const [state, setState] = useState({ value: /** @type {Value | null} */ (null), error: /** @type {ApiError | null} */ (null) });
  const latest = useRef(0);
  const reload = useCallback(async () => {
    const request = (latest.current += 1);
    const change = await load().then((value) => ({ value, error: null }), (error) => ({ error: asApiError(error) }));
    if (request === latest.current) setState((before) => ({ ...before, ...change }));
  }, inputs);
  useEffect(() => {
    reload();
    return () => { latest.current += 1; };
  }, [reload]);
  useEffect(() => (state.error ? feed.on("hello", reload) : undefined), [state.error, reload]);
  return { ...state, reload };
}
