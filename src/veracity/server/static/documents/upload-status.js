// The progress of the last upload, and the outcome of each file.
import { html, useEffect } from "../lib/preact.js";
import { useDocumentEvents } from "../lib/feed.js";
import { translateReason } from "../lib/http.js";
import { number, percent, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
import { dismiss, isOver, reloadList, retryUploads, stopUpload, useUploads } from "./upload-queue.js";
/** @import { JobStatus } from "../lib/types.d.ts" */
/** @import { Queue, Upload } from "./upload-queue.js" */

const MAX_ROWS = 60;
const MAX_UNSCROLLED = 4; // more rows may need scrolling, also by keyboard
const RELOAD_DELAY = 300; // milliseconds
const STATUSES = ["added", "updated", "unchanged", "removed", "skipped", "cancelled", "received", "waiting", "failed"];
/** Problems first, then active files; all others last. @type {Record<string, number>} */
const RANKS = { failed: 0, skipped: 1, cancelled: 1, sending: 2, received: 2, waiting: 3 };
/** @type {Record<string, string>} */
const TONES = { added: "good", updated: "good", skipped: "warn", failed: "bad" };

/** @param {{ change: JobStatus }} props */
export function UploadStatus({ change }) {
  const queue = useUploads();
  useEffect(() => { reloadList(); }, []);
  useDocumentEvents(reloadList, RELOAD_DELAY);
  const { uploads, isBusy } = queue;
  if (!uploads.length) return null;
  const isActive = isBusy || isOf(change, queue) && change.under_way; // another page may send the files
  const shown = sortUploads(uploads).slice(0, MAX_ROWS);
  const hidden = uploads.length - shown.length;
  const done = uploads.filter(isOver).length;
  const current = isActive && uploads.find(({ status }) => status === "received"); // the server reads one file after another
  const describe = (/** @type {Upload} */ upload) => describeStatus(upload, upload === current, isActive, isBusy);
  return html`<section class="card documents-uploading" aria-label=${t("documents.upload_title")}>
    <div class="documents-uploading-head">
      <h2 aria-live="polite">${isActive
        ? t("documents.upload_busy", { done: number(done), count: number(uploads.length) })
        : t("documents.upload_done", { summary: summarize(uploads) })}</h2>
      <${Controls} queue=${queue} isActive=${isActive} isStopping=${queue.isStopping || isOf(change, queue) && Boolean(change.cancelled_by)} />
    </div>
    ${isActive && html`<progress max=${uploads.length} value=${done} aria-label=${t("documents.upload_title")}></progress>`}
    ${!isActive && done < uploads.length && html`<p class="small">${t("documents.upload_incomplete")}</p>`}
    <ul class="documents-files" tabindex=${shown.length > MAX_UNSCROLLED ? 0 : undefined} aria-label=${t("documents.upload_files")}>${shown.map((upload) => html`
      <${Row} key=${upload.key} upload=${upload} status=${describe(upload)} />`)}</ul>
    ${hidden > 0 && html`<p class="muted small">${t("documents.upload_more", { n: hidden, count: number(hidden) })}</p>`}
  </section>`;
}

/** Whether the change is the upload that is shown here. @param {JobStatus} change @param {Queue} queue */
export const isOf = (change, queue) => Boolean(queue.id) && change.upload === queue.id;

/** @param {{ queue: Queue, isActive: boolean, isStopping: boolean }} props */
function Controls({ queue, isActive, isStopping }) {
  if (isActive) {
    return html`<button class="small" disabled=${isStopping} onClick=${stopUpload}>${t(isStopping ? "documents.upload_stopping" : "documents.upload_stop")}</button>`;
  }
  return html`<div class="row">
    ${queue.uploads.some(({ mayRetry }) => mayRetry) && html`<button class="small" onClick=${retryUploads}>
      <${Icon} name="again" size=${16} />${t("shell.tryAgain")}</button>`}
    <button class="small quiet" onClick=${dismiss}>${t("documents.upload_dismiss")}</button>
  </div>`;
}

/** @param {{ upload: Upload, status: string }} props */
function Row({ upload, status }) {
  const reason = upload.isUnanswered ? t("documents.upload_unanswered") : translateReason(upload.reason);
  return html`<li class="documents-file" data-status=${upload.status}>
    <bdi class="documents-file-name clip" title=${printable(upload.name)}>${printable(upload.name)}</bdi>
    <span class="badge ${TONES[upload.status] || ""}">${status}</span>
    ${reason && html`<p class="documents-file-reason small"><bdi>${printable(reason)}</bdi></p>`}
  </li>`;
}

/** @param {Upload} upload @param {boolean} isCurrent @param {boolean} isActive @param {boolean} isSender */
function describeStatus({ status, share, isHeld }, isCurrent, isActive, isSender) {
  if (isCurrent) return t(isHeld ? "documents.upload_held" : "documents.upload_reading");
  if (status === "sending") return t("documents.upload_sending", { percent: percent(share) });
  const willFollow = status === "received" ? isActive : status === "waiting" && isSender;
  return t(willFollow ? "documents.upload_waiting" : `documents.status_${status}`);
}

/** @param {Upload[]} uploads */
function sortUploads(uploads) {
  if (uploads.length <= MAX_ROWS) return uploads;
  const rank = (/** @type {Upload} */ { status }) => RANKS[status] ?? 4;
  return [...uploads].sort((a, b) => rank(a) - rank(b));
}

/** @param {Upload[]} uploads */
function summarize(uploads) {
  const counts = new Map();
  for (const { status } of uploads) counts.set(status, (counts.get(status) || 0) + 1);
  return STATUSES.filter((status) => counts.has(status))
    .map((status) => t("documents.tally", { count: number(counts.get(status)), status: t(`documents.status_${status}`) }))
    .join(t("documents.and"));
}
