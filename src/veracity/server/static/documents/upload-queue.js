// The queue of files to upload. It is module state, so that uploads continue while other views are open.
import { useEffect, useState } from "../lib/preact.js";
import { asApiError } from "../lib/http.js";
import { upload } from "./upload.js";
/** @import { Outcome } from "../lib/types.d.ts" */

/**
 * A file and its state. `mayRetry`: the server has not read it; `isHeld`: it waits for another change to the documents;
 * `sizeLimit`: the megabytes it exceeds; `isStopped`, `isUnanswered`: why it ended without an outcome.
 * @typedef {{ key: number, file: File, name: string, status: "waiting" | "sending" | "reading" | "cancelled" | Outcome["status"], share: number,
 *   reason: string, mayRetry: boolean, isHeld?: boolean, sizeLimit?: number, isStopped?: boolean, isUnanswered?: boolean }} Upload
 * @typedef {{ uploads: Upload[], isBusy: boolean }} Queue
 */

const BATCH_FILES = 40; // the first outcomes arrive early, and a lost connection costs little
const BATCH_SHARE = 0.5; // of the request limit, which also counts the multipart headers
const MEGABYTE = 1024 * 1024;
const ENVELOPE = 2048; // bytes of a file's multipart headers
const OVER = new Set(["added", "updated", "unchanged", "skipped", "failed", "cancelled", "removed"]);
const FATAL = new Set([0, 401, 403]); // the next batch would fail in the same way
const MAX_WAITS = 3; // in a row, for a server that answers with Retry-After

/** @type {Queue} */
let queue = { uploads: [], isBusy: false };
let lastKey = 0;
let limit = Infinity; // megabytes
let endWait = () => {};
/** @type {Set<(queue: Queue) => void>} */
const listeners = new Set();

/** @param {Partial<Queue>} changes */
function change(changes) {
  queue = { ...queue, ...changes };
  listeners.forEach((listener) => listener(queue));
}

/** @param {Set<number>} keys @param {(upload: Upload) => Partial<Upload>} changes */
function changeUploads(keys, changes) {
  change({ uploads: queue.uploads.map((upload) => (keys.has(upload.key) ? { ...upload, ...changes(upload) } : upload)) });
}

export function useUploads() {
  const [shown, setShown] = useState(queue);
  useEffect(() => {
    setShown(queue);
    listeners.add(setShown);
    return () => { listeners.delete(setShown); };
  }, []);
  return shown;
}

/** @param {Upload} upload */
export const isOver = (upload) => OVER.has(upload.status);

/** @param {File[]} files @param {number} megabytes the server's limit per request */
export function addFiles(files, megabytes) {
  limit = megabytes || Infinity;
  const earlier = queue.isBusy ? queue.uploads : [];
  change({ uploads: [...earlier, ...files.map(newUpload)] });
  work();
}

/** @param {File} file @returns {Upload} */
function newUpload(file) {
  const upload = { key: (lastKey += 1), file, name: file.name, share: 0, reason: "", mayRetry: false };
  const isTooLarge = file.size + ENVELOPE > limit * MEGABYTE;
  return isTooLarge ? { ...upload, status: "failed", sizeLimit: limit } : { ...upload, status: "waiting" };
}

export function stopSending() {
  end(queue.uploads.filter(({ status }) => status === "waiting"), { status: "cancelled", isStopped: true });
  endWait();
}

export function retryUploads() {
  const keys = new Set(queue.uploads.filter(({ mayRetry }) => mayRetry).map(({ key }) => key));
  changeUploads(keys, ({ file }) => newUpload(file));
  work();
}

export function dismiss() {
  if (!queue.isBusy) change({ uploads: [] });
}

async function work() {
  if (queue.isBusy) return;
  change({ isBusy: true });
  window.addEventListener("beforeunload", warnBeforeUnload);
  let waits = 0;
  for (let batch = nextBatch(); batch.length; batch = nextBatch()) {
    const seconds = await sendBatch(batch, waits < MAX_WAITS);
    waits = seconds ? waits + 1 : 0;
    if (seconds) await new Promise((resolve) => { endWait = () => resolve(undefined); setTimeout(endWait, seconds * 1000); });
  }
  window.removeEventListener("beforeunload", warnBeforeUnload);
  change({ isBusy: false });
}

/** @param {Event} event */
function warnBeforeUnload(event) {
  event.preventDefault();
}

function nextBatch() {
  const batch = [];
  let room = limit * MEGABYTE * BATCH_SHARE;
  for (const upload of queue.uploads) {
    if (upload.status !== "waiting") continue;
    if (batch.length && (upload.file.size > room || batch.length === BATCH_FILES)) break;
    batch.push(upload);
    room -= upload.file.size;
  }
  return batch;
}

/**
 * Returns the seconds to wait before the batch is sent again, or 0.
 * @param {Upload[]} batch
 * @param {boolean} mayWait
 */
async function sendBatch(batch, mayWait) {
  const keys = new Set(batch.map(({ key }) => key));
  let problem = ""; // reported by the server after it has received the files
  changeUploads(keys, () => ({ status: "sending" }));
  try {
    await upload("/api/documents", batch.map(({ file }) => file), {
      onProgress: (share) => showProgress(batch, share),
      onEvent: (kind, data) => {
        if (kind === "waiting") changeUploads(keys, () => ({ isHeld: data.ahead > 0 }));
        if (kind === "cancelled") cancelBatch(keys);
        if (kind === "outcome") settle(keys, data);
        if (kind === "failed") problem = data.problem;
      },
    });
    end(openUploads(keys), { status: "failed", isUnanswered: true });
  } catch (thrown) {
    const error = asApiError(thrown);
    if (error.retryAfter && mayWait) {
      changeUploads(keys, () => ({ status: "waiting", share: 0 }));
      return error.retryAfter;
    }
    const cause = problem || error.status !== 200 ? { reason: problem || error.message } : { isUnanswered: true };
    end(openUploads(keys), { status: "failed", ...cause });
    if (FATAL.has(error.status)) end(queue.uploads.filter((upload) => !isOver(upload)), { status: "failed", reason: error.message });
  }
  return 0;
}

/** The server does not read the rest of a cancelled batch, and later batches are not sent. @param {Set<number>} keys */
function cancelBatch(keys) {
  end(openUploads(keys), { status: "cancelled" });
  stopSending();
}

/** @param {Set<number>} keys */
function openUploads(keys) {
  return queue.uploads.filter((upload) => keys.has(upload.key) && !isOver(upload));
}

/** @param {Upload[]} uploads @param {Partial<Upload>} changes */
function end(uploads, changes) {
  changeUploads(new Set(uploads.map(({ key }) => key)), () => ({ mayRetry: true, ...changes }));
}

/**
 * The files of a request are sent in order, so the share of each follows from the share of the whole.
 * @param {Upload[]} batch
 * @param {number} share
 */
function showProgress(batch, share) {
  let sent = share * batch.reduce((total, { file }) => total + file.size, 0);
  const shares = new Map();
  for (const { key, file } of batch) {
    shares.set(key, file.size ? Math.max(0, Math.min(1, sent / file.size)) : Number(share === 1));
    sent -= file.size;
  }
  changeUploads(new Set(shares.keys()), (upload) => {
    if (upload.status !== "sending") return {};
    return share === 1 ? { share: 1, status: "reading" } : { share: shares.get(upload.key) };
  });
}

/** The server reads files in order, and may have changed a name. @param {Set<number>} keys @param {Outcome} outcome */
function settle(keys, { name, status, reason }) {
  const open = openUploads(keys);
  const upload = open.find((candidate) => candidate.name === name) || open[0];
  if (upload) changeUploads(new Set([upload.key]), () => ({ status, reason: reason || "", share: 1 }));
}
