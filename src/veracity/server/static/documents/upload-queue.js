// The files of the last upload. The server keeps their list, this module the files to send: it is module state, so that
// uploads continue while other views are open.
import { useEffect, useState } from "../lib/preact.js";
import { asApiError, del, get, post } from "../lib/http.js";
import { upload } from "./upload.js";
/** @import { ListedFile, Outcome, UploadList } from "../lib/types.d.ts" */

/**
 * A file and its state. `list`, `number`: its place in the server's lists; `file`: only on the page that sends it;
 * `mayRetry`: the server has not read it; `isHeld`: it waits for another change to the documents; `isUnanswered`: it
 * ended without an outcome.
 * @typedef {{ key: number, list: string, number: number, file?: File, name: string, status: ListedFile["status"] | "sending", share: number,
 *   reason: string, mayRetry: boolean, isHeld?: boolean, isUnanswered?: boolean }} Upload
 * @typedef {{ id: string, uploads: Upload[], isBusy: boolean, isStopping: boolean }} Queue `isBusy`: this page sends files
 */

export const MAX_FILES = 10000; // in one list
const LIST = "/api/documents/upload";
const BATCH_FILES = 40; // the first outcomes arrive early, and a lost connection costs little
const BATCH_SHARE = 0.5; // of the request limit, which also counts the multipart headers
const MEGABYTE = 1024 * 1024;
const MAX_NAME_LENGTH = 1000;
const OPEN = new Set(["waiting", "sending", "received"]);
const FATAL = new Set([0, 401, 403]); // the next batch would fail in the same way
const MAX_WAITS = 3; // in a row, for a server that answers with Retry-After

/** @type {Queue} */
let queue = { id: "", uploads: [], isBusy: false, isStopping: false };
let lastKey = 0;
let limit = Infinity; // megabytes
let endWait = () => {};
let sending = new AbortController();
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
export const isOver = (upload) => !OPEN.has(upload.status);

/** Reads the list again, which another page may have changed. While this page sends files, it knows more. */
export async function reloadList() {
  if (queue.isBusy) return;
  const list = await get(LIST).catch(() => undefined);
  if (list !== undefined && !queue.isBusy) adopt(list);
}

/** @param {UploadList | null} list */
function adopt(list) {
  if (queue.uploads.some(({ number }) => !number)) return; // they could not be announced
  const local = new Map(queue.uploads.map((upload) => [`${upload.list} ${upload.number}`, upload]));
  const merge = (/** @type {ListedFile} */ listed) => mergeUpload(local.get(`${list?.id} ${listed.number}`), listed, list?.id ?? "");
  change({ id: list?.id ?? "", uploads: list?.files.map(merge) ?? [] });
}

/** What this page knows counts where the server has no outcome. @param {Upload | undefined} local @param {ListedFile} listed @param {string} list @returns {Upload} */
function mergeUpload(local, { number, name, status, reason }, list) {
  if (local && isOver(local) && OPEN.has(status)) return local;
  const wasNotRead = OPEN.has(status) || status === "cancelled" || Boolean(local?.mayRetry);
  lastKey = Math.max(lastKey, number);
  return { key: local?.key ?? number, list, number, file: local?.file, name, status, share: 1, reason, mayRetry: Boolean(local?.file) && wasNotRead };
}

/** @param {File[]} files @param {number} megabytes the server's limit per request */
export function addFiles(files, megabytes) {
  limit = megabytes || Infinity;
  const earlier = queue.isBusy ? queue : { id: "", uploads: [] };
  change({ id: earlier.id, uploads: [...earlier.uploads, ...files.map((file) => waiting((lastKey += 1), file))] });
  work();
}

/** @param {number} key @param {File} file @returns {Upload} */
function waiting(key, file) {
  return { key, list: "", number: 0, file, name: file.name, status: "waiting", share: 0, reason: "", mayRetry: false };
}

/** Sends no more files, and ends the reading after the current one. */
export async function stopUpload() {
  change({ isStopping: true });
  sending.abort();
  end(queue.uploads.filter(({ status }) => status === "waiting" || status === "sending"), { status: "cancelled" });
  endWait();
  if (queue.id) await post(`${LIST}/stop?id=${queue.id}`).catch(() => change({ isStopping: false }));
  if (!queue.isBusy) change({ isStopping: false });
}

export function retryUploads() {
  const keys = new Set(queue.uploads.filter(({ mayRetry }) => mayRetry).map(({ key }) => key));
  changeUploads(keys, () => ({ status: "waiting", share: 0, reason: "", mayRetry: false, isHeld: false, isUnanswered: false }));
  work();
}

export async function dismiss() {
  const { id } = queue;
  if (queue.isBusy) return;
  change({ id: "", uploads: [] });
  if (id) await del(`${LIST}?id=${id}`).catch(reloadList);
}

async function work() {
  if (queue.isBusy) return;
  change({ isBusy: true, isStopping: false });
  window.addEventListener("beforeunload", warnBeforeUnload);
  let waits = 0;
  for (let batch = await nextBatch(); batch.length; batch = await nextBatch()) {
    const seconds = await sendBatch(batch, waits < MAX_WAITS);
    waits = seconds ? waits + 1 : 0;
    if (seconds) await new Promise((resolve) => { endWait = () => resolve(undefined); setTimeout(endWait, seconds * 1000); });
  }
  window.removeEventListener("beforeunload", warnBeforeUnload);
  change({ isBusy: false, isStopping: false });
  reloadList();
}

/** @param {Event} event */
function warnBeforeUnload(event) {
  event.preventDefault();
}

/** Tells the server which files will come, so that it can say which did not. */
async function announce() {
  const fresh = queue.uploads.filter(({ number, status }) => !number && status === "waiting");
  if (!fresh.length) return;
  const files = fresh.map(({ file, name }) => ({ name: name.slice(0, MAX_NAME_LENGTH), size: file?.size ?? 0 }));
  try {
    /** @type {UploadList} */
    const { id, files: all } = await post(LIST, { files, to: queue.id });
    const listed = new Map(all.slice(-fresh.length).map((file, at) => [fresh[at].key, file]));
    change({ id });
    changeUploads(new Set(listed.keys()), (upload) => {
      const { number, status, reason } = /** @type {ListedFile} */ (listed.get(upload.key));
      return { list: id, number, ...(isOver(upload) ? {} : { status, reason }) };
    });
  } catch (error) {
    end(fresh, { status: "failed", reason: asApiError(error).message });
  }
}

async function nextBatch() {
  await announce();
  const batch = [];
  let room = limit * MEGABYTE * BATCH_SHARE;
  for (const upload of queue.uploads) {
    if (upload.status !== "waiting" || !upload.number) continue;
    const size = upload.file?.size ?? 0;
    if (batch.length && (size > room || batch.length === BATCH_FILES || upload.list !== batch[0].list)) break;
    batch.push(upload);
    room -= size;
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
  const controller = (sending = new AbortController());
  let problem = ""; // reported by the server after it has received the files
  changeUploads(keys, () => ({ status: "sending" }));
  const path = `/api/documents?upload=${batch[0].list}${batch.map(({ number }) => `&number=${number}`).join("")}`;
  try {
    await upload(path, batch.flatMap(({ file }) => file ?? []), {
      signal: controller.signal,
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
    if (controller.signal.aborted) {
      end(openUploads(keys), { status: "cancelled" });
      return 0;
    }
    if (error.retryAfter && mayWait) {
      changeUploads(new Set(openUploads(keys).map(({ key }) => key)), () => ({ status: "waiting", share: 0 }));
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
  if (!queue.isStopping) stopUpload();
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
  const sizes = batch.map(({ file }) => file?.size ?? 0);
  let sent = share * sizes.reduce((total, size) => total + size, 0);
  const shares = new Map();
  batch.forEach(({ key }, at) => {
    shares.set(key, sizes[at] ? Math.max(0, Math.min(1, sent / sizes[at])) : Number(share === 1));
    sent -= sizes[at];
  });
  changeUploads(new Set(shares.keys()), (upload) => {
    if (upload.status !== "sending") return {};
    return share === 1 ? { share: 1, status: "received" } : { share: shares.get(upload.key) };
  });
}

/** The server reads files in order, and may have changed a name. @param {Set<number>} keys @param {Outcome} outcome */
function settle(keys, { name, status, reason }) {
  const open = openUploads(keys);
  const upload = open.find((candidate) => candidate.name === name) || open[0];
  if (upload) changeUploads(new Set([upload.key]), () => ({ status, reason: reason || "", share: 1 }));
}
