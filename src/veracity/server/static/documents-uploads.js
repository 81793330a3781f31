// Files on their way into the workspace. The upload goes on while other pages are looked at: so it is kept here and not in
// a component. Knows nothing about how it is shown.
import { useEffect, useState } from "./vendor/preact.js";
import { upload } from "./api.js";

const BATCH_FILES = 40; // so that the first outcomes come early, and a lost connection costs little
const BATCH_SHARE = 0.5; // of what a request may hold: the server counts the parts between the files too
const MEGABYTE = 1024 * 1024;
const ENVELOPE = 2048; // bytes around a file in a request, its name included
const OVER = new Set(["added", "updated", "unchanged", "skipped", "failed", "cancelled", "removed"]);
const HOPELESS = new Set([0, 401, 403]); // what follows would be refused like this one
const MOST_WAITS = 3; // for a server that asks to come again later

// A row is {key, file, name, status, share, reason, again, isHeld}; `again`: it was never read, so it may be sent once more;
// `isHeld`: it waits for another change of the documents.
let state = { rows: [], busy: false };
let lastKey = 0;
let megabytes = Infinity;
let goOn = () => {}; // ends a wait
const listeners = new Set();

function change(changes) {
  state = { ...state, ...changes };
  listeners.forEach((listener) => listener(state));
}

function changeRows(keys, changed) {
  change({ rows: state.rows.map((row) => (keys.has(row.key) ? { ...row, ...changed(row) } : row)) });
}

export function useUploads() {
  const [shown, setShown] = useState(state);
  useEffect(() => {
    setShown(state);
    listeners.add(setShown);
    return () => listeners.delete(setShown);
  }, []);
  return shown;
}

export const isOver = (row) => OVER.has(row.status);

export function addFiles(files, limit) {
  megabytes = limit || Infinity;
  const kept = state.busy ? state.rows : [];
  change({ rows: [...kept, ...[...files].map(asRow)] });
  work();
}

function asRow(file) {
  const row = { key: (lastKey += 1), file, name: file.name, status: "waiting", share: 0, reason: "", again: false };
  return file.size + ENVELOPE > megabytes * MEGABYTE ? { ...row, status: "failed", tooLarge: megabytes } : row;
}

export function stopSending() {
  end(state.rows.filter((row) => row.status === "waiting"), { status: "cancelled", stopped: true });
  goOn();
}

export function sendAgain() {
  const keys = new Set(state.rows.filter((row) => row.again).map((row) => row.key));
  changeRows(keys, (row) => asRow(row.file));
  work();
}

export function dismiss() {
  if (!state.busy) change({ rows: [] });
}

async function work() {
  if (state.busy) return;
  change({ busy: true });
  window.addEventListener("beforeunload", warn);
  let waits = 0; // one after another
  for (let batch = nextBatch(); batch.length; batch = nextBatch()) {
    const seconds = await sendBatch(batch, waits < MOST_WAITS);
    waits = seconds ? waits + 1 : 0;
    if (seconds) await new Promise((resolve) => { goOn = resolve; setTimeout(resolve, seconds * 1000); });
  }
  window.removeEventListener("beforeunload", warn);
  change({ busy: false });
}

function warn(event) {
  event.preventDefault();
}

function nextBatch() {
  const batch = [];
  let room = megabytes * MEGABYTE * BATCH_SHARE;
  for (const row of state.rows) {
    if (row.status !== "waiting") continue;
    if (batch.length && (row.file.size > room || batch.length === BATCH_FILES)) break;
    batch.push(row);
    room -= row.file.size;
  }
  return batch;
}

// -> after how many seconds the server wants to be asked again; 0 where there is no need to.
async function sendBatch(batch, mayWait) {
  const keys = new Set(batch.map((row) => row.key));
  let told = ""; // what the server says of the whole, after it has taken the files
  changeRows(keys, () => ({ status: "sending" }));
  try {
    await upload("/api/documents", batch.map((row) => row.file), {
      onProgress: (share) => showSent(batch, share),
      onEvent: (kind, data) => {
        if (kind === "waiting") changeRows(keys, () => ({ isHeld: data.ahead > 0 }));
        if (kind === "cancelled") cancelled(keys);
        if (kind === "outcome") settle(keys, data);
        if (kind === "failed") told = data.problem;
      },
    });
    fail(open(keys), { unanswered: true });
  } catch (problem) {
    if (problem.retryAfter && mayWait) {
      changeRows(keys, () => ({ status: "waiting", share: 0 }));
      return problem.retryAfter;
    }
    fail(open(keys), told || problem.status !== 200 ? { reason: told || problem.message } : { unanswered: true });
    if (HOPELESS.has(problem.status)) fail(state.rows.filter((row) => !isOver(row)), { reason: problem.message });
  }
  return 0;
}

// What the server has not read by now it does not read. What was not sent yet is not sent.
function cancelled(keys) {
  end(open(keys), { status: "cancelled" });
  stopSending();
}

function open(keys) {
  return state.rows.filter((row) => keys.has(row.key) && !isOver(row));
}

function fail(rows, why) {
  end(rows, { status: "failed", ...why });
}

function end(rows, how) {
  changeRows(new Set(rows.map((row) => row.key)), () => ({ again: true, ...how }));
}

// The files of a request go one after another: how much of each has gone follows from how much of the whole has.
function showSent(batch, share) {
  let sent = share * batch.reduce((total, row) => total + row.file.size, 0);
  const shares = new Map();
  for (const row of batch) {
    shares.set(row.key, row.file.size ? Math.max(0, Math.min(1, sent / row.file.size)) : Number(share === 1));
    sent -= row.file.size;
  }
  changeRows(new Set(shares.keys()), (row) => {
    if (row.status !== "sending") return {};
    return share === 1 ? { share: 1, status: "reading" } : { share: shares.get(row.key) };
  });
}

// The server may have had to change a name; it takes the files in their order.
function settle(keys, outcome) {
  const waiting = open(keys);
  const row = waiting.find((one) => one.name === outcome.name) || waiting[0];
  if (row) changeRows(new Set([row.key]), () => ({ status: outcome.status, reason: outcome.reason || "", share: 1 }));
}
