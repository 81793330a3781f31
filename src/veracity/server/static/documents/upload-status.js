// The progress of uploads, and the outcome of each file.
import { html } from "../lib/preact.js";
import { translateReason } from "../lib/http.js";
import { number, percent, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
import { dismiss, isOver, retryUploads, stopSending, useUploads } from "./upload-queue.js";
/** @import { Upload } from "./upload-queue.js" */

const MAX_ROWS = 60;
const STATUSES = ["added", "updated", "unchanged", "removed", "skipped", "cancelled", "failed"];
/** Problems first, then active files; all others last. @type {Record<string, number>} */
const RANKS = { failed: 0, skipped: 1, cancelled: 1, sending: 2, reading: 2, waiting: 3 };
/** @type {Record<string, string>} */
const TONES = { added: "good", updated: "good", skipped: "warn", failed: "bad" };

export function UploadStatus() {
  const { uploads, isBusy } = useUploads();
  if (!uploads.length) return null;
  const shown = sortUploads(uploads).slice(0, MAX_ROWS);
  const hidden = uploads.length - shown.length;
  const current = uploads.find(({ status }) => status === "reading"); // the server reads one file after another
  return html`<section class="card documents-uploading" aria-label=${t("documents.upload_title")}>
    <div class="documents-uploading-head">
      <h2 aria-live="polite">${isBusy
        ? t("documents.upload_busy", { done: number(uploads.filter(isOver).length), count: number(uploads.length) })
        : t("documents.upload_done", { summary: summarize(uploads) })}</h2>
      <${Controls} uploads=${uploads} isBusy=${isBusy} />
    </div>
    ${isBusy && html`<progress max="1" value=${totalShare(uploads)} aria-label=${t("documents.upload_title")}></progress>`}
    <ul class="documents-files">${shown.map((upload) => html`<${Row} key=${upload.key} upload=${upload} isCurrent=${upload === current} />`)}</ul>
    ${hidden > 0 && html`<p class="muted small">${t("documents.upload_more", { n: hidden, count: number(hidden) })}</p>`}
  </section>`;
}

/** @param {{ uploads: Upload[], isBusy: boolean }} props */
function Controls({ uploads, isBusy }) {
  if (isBusy) {
    return uploads.some(({ status }) => status === "waiting") && html`
      <button class="small" onClick=${stopSending}>${t("documents.upload_stop")}</button>`;
  }
  return html`<div class="row">
    ${uploads.some(({ mayRetry }) => mayRetry) && html`<button class="small" onClick=${retryUploads}>
      <${Icon} name="again" size=${16} />${t("shell.tryAgain")}</button>`}
    <button class="small quiet" onClick=${dismiss}>${t("documents.upload_dismiss")}</button>
  </div>`;
}

/** @param {{ upload: Upload, isCurrent: boolean }} props */
function Row({ upload, isCurrent }) {
  const reason = describeReason(upload);
  return html`<li class="documents-file" data-status=${upload.status}>
    <bdi class="documents-file-name clip" title=${printable(upload.name)}>${printable(upload.name)}</bdi>
    <span class="badge ${TONES[upload.status] || ""}">${describeStatus(upload, isCurrent)}</span>
    ${reason && html`<p class="documents-file-reason small"><bdi>${printable(reason)}</bdi></p>`}
  </li>`;
}

/** @param {Upload} upload */
function describeReason(upload) {
  if (upload.sizeLimit) return t("documents.upload_too_large", { megabytes: number(upload.sizeLimit) });
  if (upload.isStopped) return t("documents.upload_stopped");
  if (upload.isUnanswered) return t("documents.upload_unanswered");
  return translateReason(upload.reason);
}

/** @param {Upload} upload @param {boolean} isCurrent */
function describeStatus(upload, isCurrent) {
  if (isCurrent) return t(upload.isHeld ? "documents.upload_held" : "documents.upload_reading");
  if (upload.status === "waiting" || upload.status === "reading") return t("documents.upload_waiting");
  if (upload.status === "sending") return t("documents.upload_sending", { percent: percent(upload.share) });
  return t(`documents.status_${upload.status}`);
}

/** @param {Upload[]} uploads */
function sortUploads(uploads) {
  if (uploads.length <= MAX_ROWS) return uploads;
  const rank = (/** @type {Upload} */ { status }) => RANKS[status] ?? 4;
  return [...uploads].sort((a, b) => rank(a) - rank(b));
}

/** Sending a file is half of its work, reading it the other half. @param {Upload[]} uploads */
function totalShare(uploads) {
  return uploads.reduce((total, upload) => total + (isOver(upload) ? 1 : upload.share / 2), 0) / uploads.length;
}

/** @param {Upload[]} uploads */
function summarize(uploads) {
  const counts = new Map();
  for (const { status } of uploads) counts.set(status, (counts.get(status) || 0) + 1);
  return STATUSES.filter((status) => counts.has(status))
    .map((status) => t("documents.tally", { count: number(counts.get(status)), status: t(`documents.status_${status}`) }))
    .join(t("documents.and"));
}
