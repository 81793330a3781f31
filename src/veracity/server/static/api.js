// The server as the page sees it: what can be asked of it, and runs that are followed. The one door for all views.
// Knows nothing about how any of it is shown.
import { eventReader, keepOpen, readEvents } from "./events.js";
import { ApiError, eventsOf, offline, refusal, send } from "./requests.js";

export { feed } from "./feed.js";
export { ApiError, onSignedOut } from "./requests.js";

const LAST_EVENTS = new Set(["answer", "failed"]);

async function value(response) {
  return response.status === 204 ? null : response.json();
}

export const get = async (path) => value(await send("GET", path));
export const post = async (path, body, headers) => value(await send("POST", path, { body, headers }));
export const del = async (path) => value(await send("DELETE", path));

export const signIn = (token) => post("/api/session", { token });
export const signOut = () => del("/api/session");

// Follows a run from the event `after` on, live or done. onEvent gets {kind, run_id, …, id}; the last one is "answer" or "failed".
export function follow(runId, { after = "", onEvent, onState, onError }) {
  return keepOpen({
    open: (last, signal) => eventsOf(`/api/runs/${encodeURIComponent(runId)}/events`, last, signal),
    after,
    onEvent: ({ id, data }) => {
      onEvent({ ...data, id });
      return LAST_EVENTS.has(data.kind);
    },
    onState,
    onError,
  });
}

// Asks, and follows the run that comes of it. What goes wrong before there is a run goes to onError; it may be asked again,
// under the same name (`once`) without fear that it is asked twice.
export function ask(body, once, { onEvent, onState = () => {}, onError = () => {} }) {
  const abort = new AbortController();
  const headers = { Accept: "text/event-stream", "Idempotency-Key": once };
  let run = "";
  let last = "";
  let over = false;
  let following = null;

  function take({ id, data }) {
    if (over) return;
    run = data.run_id || run;
    last = id || last;
    over = LAST_EVENTS.has(data.kind);
    onEvent({ ...data, id });
    if (over) onState("closed");
  }

  async function start() {
    let problem = offline();
    try {
      const response = await send("POST", "/api/ask", { body, headers, signal: abort.signal });
      run = response.headers.get("X-Veracity-Run") || "";
      onEvent({ kind: "taken", run_id: run });
      onState("open");
      await readEvents(response, take);
    } catch (met) {
      if (met instanceof ApiError) problem = met;
    }
    if (over) return;
    if (run) {
      onState("reconnecting");
      following = follow(run, { after: last, onEvent, onState, onError });
    } else {
      over = true;
      onState("closed");
      onError(problem);
    }
  }

  start();
  return {
    stop() {
      over = true;
      abort.abort();
      following?.stop();
    },
  };
}

// Sends files. onProgress gets the share that is sent, onEvent(kind, data) what the server makes of them. -> the "report"
export function upload(path, files, { onProgress = () => {}, onEvent = () => {} } = {}) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    let report = null;
    let read = 0;
    const take = eventReader(({ kind, data }) => {
      if (kind === "report") report = data;
      onEvent(kind, data);
    });
    const readOn = () => {
      if (request.status !== 200) return;
      take(request.responseText.slice(read));
      read = request.responseText.length;
    };
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onprogress = readOn;
    request.onerror = () => reject(offline());
    request.onload = () => {
      readOn();
      if (request.status < 300 && report) resolve(report);
      else reject(refusal(request.status, request.responseText, request.getResponseHeader("Retry-After")));
    };
    request.open("POST", path);
    request.setRequestHeader("Accept", "text/event-stream");
    request.send(form);
  });
}
