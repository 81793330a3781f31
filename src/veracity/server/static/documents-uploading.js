// What is being added to the documents: how far it is, and what became of each file.
import { html } from "./vendor/preact.js";
import { number, percent, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { dismiss, isOver, sendAgain, stopSending, useUploads } from "./documents-uploads.js";
import { inOwnWords } from "./reasons.js";
import { visible } from "./visible.js";

const MOST_ROWS = 60;
const STATUSES = ["added", "updated", "unchanged", "removed", "skipped", "cancelled", "failed"];
const PLACES = { failed: 0, skipped: 1, cancelled: 1, sending: 2, reading: 2, waiting: 3 }; // others come last
const TONES = { added: "good", updated: "good", skipped: "warn", failed: "bad" };

export function Uploading() {
  const { rows, busy } = useUploads();
  if (!rows.length) return null;
  const shown = ordered(rows).slice(0, MOST_ROWS);
  const atWork = rows.find((row) => row.status === "reading"); // the server reads one after another
  return html`<section class="card documents-uploading" aria-label=${t("documents.upload_title")}>
    <div class="documents-uploading-head">
      <h2 aria-live="polite">${busy ? progress(rows) : t("documents.upload_done", { summary: summary(rows) })}</h2>
      <${Controls} rows=${rows} busy=${busy} />
    </div>
    ${busy && html`<progress max="1" value=${share(rows)} aria-label=${t("documents.upload_title")}></progress>`}
    <ul class="documents-files">${shown.map((row) => html`<${FileRow} key=${row.key} row=${row} isAtWork=${row === atWork} />`)}</ul>
    ${rows.length > shown.length && html`<p class="muted small">
      ${t("documents.upload_more", { n: rows.length - shown.length, count: number(rows.length - shown.length) })}</p>`}
  </section>`;
}

function Controls({ rows, busy }) {
  if (busy) {
    return rows.some((row) => row.status === "waiting") && html`
      <button class="small" onClick=${stopSending}>${t("documents.upload_stop")}</button>`;
  }
  return html`<div class="row">
    ${rows.some((row) => row.again) && html`<button class="small" onClick=${sendAgain}>
      <${Icon} name="again" size=${16} />${t("documents.again")}</button>`}
    <button class="small quiet" onClick=${dismiss}>${t("documents.upload_dismiss")}</button>
  </div>`;
}

function FileRow({ row, isAtWork }) {
  const reason = why(row);
  return html`<li class="documents-file" data-status=${row.status}>
    <bdi class="documents-file-name clip" title=${visible(row.name)}>${visible(row.name)}</bdi>
    <span class="badge ${TONES[row.status] || ""}">${standing(row, isAtWork)}</span>
    ${reason && html`<p class="documents-file-reason small"><bdi>${visible(reason)}</bdi></p>`}
  </li>`;
}

function why(row) {
  if (row.tooLarge) return t("documents.upload_too_large", { megabytes: number(row.tooLarge) });
  if (row.stopped) return t("documents.upload_stopped");
  if (row.unanswered) return t("documents.upload_unanswered");
  return inOwnWords(row.reason);
}

function standing(row, isAtWork) {
  if (isAtWork) return t(row.isHeld ? "documents.upload_held" : "documents.upload_reading");
  if (row.status === "waiting" || row.status === "reading") return t("documents.upload_waiting");
  if (row.status === "sending") return t("documents.upload_sending", { percent: percent(row.share) });
  return t(`documents.status_${row.status}`);
}

// What went wrong comes first and what is under way next: with thousands of files that is what one looks for.
function ordered(rows) {
  if (rows.length <= MOST_ROWS) return rows;
  const place = (row) => PLACES[row.status] ?? 4;
  return [...rows].sort((one, other) => place(one) - place(other));
}

function progress(rows) {
  return t("documents.upload_busy", { done: number(rows.filter(isOver).length), count: number(rows.length) });
}

// Sending is half of the way of a file, being read the other half.
function share(rows) {
  return rows.reduce((total, row) => total + (isOver(row) ? 1 : row.share / 2), 0) / rows.length;
}

function summary(rows) {
  const counts = new Map();
  for (const row of rows) counts.set(row.status, (counts.get(row.status) || 0) + 1);
  return STATUSES.filter((status) => counts.has(status))
    .map((status) => t("documents.tally", { count: number(counts.get(status)), status: t(`documents.status_${status}`) }))
    .join(t("documents.and"));
}
