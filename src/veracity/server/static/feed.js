// What changes in the workspace, told by the server as it happens. Knows nothing about who listens.
import { keepOpen } from "./events.js";
import { eventsOf } from "./requests.js";

const HIDDEN_FOR = 60000; // a tab that is not looked at gives its feed back: browsers allow few connections to one server

// One connection for the whole page. Kinds are those of /api/events, and "state": "open", "reconnecting" or "closed".
// "hello" comes at every (re)connection: whoever shows something that changes should look again then.
class Feed {
  #handlers = new Map();
  #stream = null;
  #wanted = false;

  on(kind, handler) {
    if (!this.#handlers.has(kind)) this.#handlers.set(kind, new Set());
    this.#handlers.get(kind).add(handler);
    return () => this.#handlers.get(kind).delete(handler);
  }

  start() {
    this.#wanted = true;
    this.#open();
  }

  stop() {
    this.#wanted = false;
    this.#close();
  }

  #open() {
    if (this.#stream || !this.#wanted) return;
    this.#stream = keepOpen({
      open: (after, signal) => eventsOf("/api/events", after, signal),
      onEvent: ({ kind, data }) => { this.#tell(kind, data); },
      onState: (state) => this.#tell("state", state),
      onError: () => { this.#stream = null; },
    });
  }

  #close() {
    this.#stream?.stop();
    this.#stream = null;
  }

  #tell(kind, data) {
    this.#handlers.get(kind)?.forEach((handler) => handler(data));
  }

  watchVisibility() {
    let timer = 0;
    document.addEventListener("visibilitychange", () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => this.#close(), HIDDEN_FOR);
      else this.#open();
    });
  }
}

export const feed = new Feed();
feed.watchVisibility();
