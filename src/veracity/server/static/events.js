// Server-sent events over fetch: read, taken up again after the last one that came, and ended when they are through.
// EventSource is no help here: it cannot POST, and cannot tell a refusal from a lost connection.
// Knows nothing about what the events mean.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const SILENCE = 50000;

// Takes text as it comes, in pieces of any size, and hands out whole events: {id, kind, data}.
export function eventReader(onEvent) {
  let rest = "";
  let event = { id: "", kind: "message", lines: [] };

  function line(text) {
    if (text === "") {
      if (event.lines.length) onEvent({ id: event.id, kind: event.kind, data: parsed(event.lines.join("\n")) });
      event = { id: event.id, kind: "message", lines: [] };
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(text);
    if (field === "id") event.id = value;
    else if (field === "event") event.kind = value;
    else if (field === "data") event.lines.push(value);
  }

  return function take(text) {
    rest += text;
    const whole = rest.endsWith("\r") ? rest.length - 1 : rest.length; // its \n may be still to come
    const lines = rest.slice(0, whole).split(/\r\n|\n|\r/);
    rest = lines.pop() + rest.slice(whole);
    lines.forEach(line);
  };
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return {}; }
}

// Returns at the end of the stream, and when nothing came for so long that the connection must be dead: the server says
// something every 15 seconds.
export async function readEvents(response, onEvent) {
  const take = eventReader(onEvent);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let alarm = 0;
  const watch = () => {
    clearTimeout(alarm);
    alarm = setTimeout(() => reader.cancel().catch(() => {}), SILENCE);
  };
  try {
    for (;;) {
      watch();
      const { done, value } = await reader.read();
      if (done) return;
      take(value);
    }
  } finally {
    clearTimeout(alarm);
  }
}

// Keeps one stream open: `open(after, signal)` gives a response, or throws {retriable, retryAfter}. `onEvent` returns true
// when the stream is through. A connection that is lost is taken up after the last event that came.
export function keepOpen({ open, after = "", onEvent, onState = () => {}, onError = () => {} }) {
  const abort = new AbortController();
  let last = after;
  let wait = FIRST_WAIT;
  let over = false;

  function take(event) {
    if (over) return;
    wait = FIRST_WAIT;
    if (event.id) last = event.id;
    if (onEvent(event)) finish();
  }

  function finish() {
    if (over) return;
    over = true;
    abort.abort();
    onState("closed");
  }

  async function once() {
    const response = await open(last, abort.signal);
    onState("open");
    await readEvents(response, take);
  }

  async function run() {
    while (!over) {
      let pause = wait;
      try {
        await once();
      } catch (problem) {
        if (over) return;
        if (problem.retriable === false) {
          finish();
          onError(problem);
          return;
        }
        pause = Math.max(wait, (problem.retryAfter || 0) * 1000);
      }
      if (over) return;
      onState("reconnecting");
      wait = Math.min(wait * 2, LONGEST_WAIT);
      await rest(pause * (0.75 + Math.random() / 2), abort.signal);
    }
  }

  run();
  return { stop: finish, last: () => last };
}

// Waits, but no longer than until the network is back or the page is looked at again.
function rest(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    window.addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
