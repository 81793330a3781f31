// Reindexing all documents: the dialog before it, and its progress.
import { html, useState } from "../lib/preact.js";
import { ConfirmDialog } from "../lib/components.js";
import { asApiError, translateReason } from "../lib/http.js";
import { duration, number, t } from "../lib/i18n.js";
import { printable } from "../lib/text.js";
import { upload } from "./upload.js";
/** @import { IngestReport } from "../lib/types.d.ts" */

/** @typedef {{ kind: "busy", done: number, count: number, isHeld?: boolean } | { kind: "done", report: IngestReport } | { kind: "failed", problem: string }} State */

/** @param {{ onStart: () => void, onClose: () => void }} props */
export function ReindexDialog({ onStart, onClose }) {
  return html`<${ConfirmDialog} title=${t("documents.reindex_title")} onClose=${onClose} action=${t("documents.reindex")}
    cancel=${t("documents.cancel")} onAction=${() => { onStart(); onClose(); }}><p>${t("documents.reindex_what")}</p><//>`;
}

export function useReindex() {
  const [state, setState] = useState(/** @type {State | null} */ (null));

  async function start() {
    let problem = "";
    setState({ kind: "busy", done: 0, count: 0 });
    const onEvent = (/** @type {string} */ kind, /** @type {any} */ data) => {
      if (kind === "waiting") setState({ kind: "busy", done: 0, count: 0, isHeld: data.ahead > 0 });
      if (kind === "outcome") setState({ kind: "busy", done: data.done, count: data.to_come === null ? 0 : data.done + data.to_come });
      if (kind === "failed") problem = data.problem;
    };
    try {
      setState({ kind: "done", report: await upload("/api/documents/reindex", [], { onEvent }) });
    } catch (error) {
      setState({ kind: "failed", problem: problem || asApiError(error).message });
    }
  }

  return { start, isBusy: state?.kind === "busy", status: state && renderState(state) };
}

/** @param {State} state */
function renderState(state) {
  if (state.kind === "failed") return html`<p class="notice bad" role="alert">${state.problem}</p>`;
  if (state.kind === "done") return html`<div role="status"><${Report} report=${state.report} /></div>`;
  const { done, count, isHeld } = state;
  return html`<div class="card documents-reindexing" role="status">
    <div class="row spread"><strong>${t(isHeld ? "documents.reindex_held" : "documents.reindex_busy")}</strong>
      <span class="muted number">${count ? t("documents.reindex_progress", { done: number(done), count: number(count) }) : ""}</span></div>
    <progress max="1" value=${count ? done / count : undefined} aria-label=${t("documents.reindex_busy")}></progress>
  </div>`;
}

/** @param {{ report: IngestReport }} props */
function Report({ report }) {
  const failed = report.outcomes.filter(({ status }) => status === "failed");
  const count = report.outcomes.length - failed.length;
  return html`<p class="notice good">
      ${t("documents.reindex_done", { n: count, count: number(count), time: duration(report.seconds) })}</p>
    ${failed.length > 0 && html`<ul class="notice bad documents-failures">
      ${failed.map(({ name, reason }) => html`<li key=${name}><bdi>${printable(name)}</bdi>: ${printable(translateReason(reason))}</li>`)}</ul>`}`;
}
