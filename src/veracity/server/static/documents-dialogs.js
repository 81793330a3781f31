// What is asked before documents are removed or indexed anew, and how far the indexing is.
import { html, useState } from "./vendor/preact.js";
import { del, upload } from "./api.js";
import { duration, number, t } from "./i18n.js";
import { useModal } from "./documents-reader.js";
import { visible } from "./visible.js";

export function RemoveDialog({ document: one, onRemoved, onClose }) {
  const [standing, setStanding] = useState({ busy: false, problem: "" });

  async function remove() {
    setStanding({ busy: true, problem: "" });
    try {
      await del(`/api/document?id=${encodeURIComponent(one.id)}`);
      onRemoved(one);
    } catch (problem) {
      setStanding({ busy: false, problem: problem.message });
    }
  }

  return html`<${Question} title=${t("documents.remove_title")} problem=${standing.problem} onClose=${onClose}
    action=${t(standing.busy ? "documents.removing" : "documents.remove")} isDanger busy=${standing.busy} onAction=${remove}>
    <p class="documents-named"><bdi>${visible(one.title || one.id)}</bdi></p>
    <ul class="documents-consequences">
      <li>${t("documents.remove_found", { n: one.passages, passages: number(one.passages) })}</li>
      <li>${t("documents.remove_receipts")}</li>
      <li>${t("documents.remove_file")}</li>
    </ul>
    <p>${t("documents.remove_final")}</p>
  <//>`;
}

export function ReindexDialog({ onStart, onClose }) {
  return html`<${Question} title=${t("documents.reindex_title")} onClose=${onClose} action=${t("documents.reindex")}
    onAction=${() => { onStart(); onClose(); }}><p>${t("documents.reindex_what")}</p><//>`;
}

function Question({ title, children, problem, action, isDanger, busy, onAction, onClose }) {
  const dialog = useModal();
  return html`<dialog ref=${dialog} class="documents-question" aria-labelledby="documents-question-title"
    onClose=${onClose}>
    <h2 id="documents-question-title">${title}</h2>
    ${children}
    ${problem && html`<p class="notice bad" role="alert">${problem}</p>`}
    <div class="documents-question-actions">
      <button autofocus disabled=${busy} onClick=${() => dialog.current.close()}>${t("documents.cancel")}</button>
      <button class=${isDanger ? "danger" : "primary"} disabled=${busy} onClick=${onAction}>${action}</button>
    </div>
  </dialog>`;
}

// {start, shown}: how to begin, and what to show of it.
export function useReindexing() {
  const [standing, setStanding] = useState(null);

  async function start() {
    let told = "";
    setStanding({ done: 0, count: 0 });
    const onEvent = (kind, data) => {
      if (kind === "outcome") setStanding({ done: data.done, count: data.to_come === null ? 0 : data.done + data.to_come });
      if (kind === "failed") told = data.problem;
    };
    try {
      const report = await upload("/api/documents/reindex", [], { onEvent });
      setStanding({ report });
    } catch (problem) {
      setStanding({ problem: told || problem.message });
    }
  }

  return { start, busy: Boolean(standing && "done" in standing), shown: standing && Reindexing(standing) };
}

function Reindexing({ done, count, report, problem }) {
  if (problem) return html`<p class="notice bad" role="alert">${problem}</p>`;
  if (report) return html`<div role="status"><${Reindexed} report=${report} /></div>`;
  const values = { done: number(done), count: number(count) };
  return html`<div class="card documents-reindexing" role="status">
    <div class="row spread"><strong>${t("documents.reindex_busy")}</strong>
      <span class="muted number">${count ? t("documents.reindex_progress", values) : ""}</span></div>
    <progress max="1" value=${count ? done / count : undefined} aria-label=${t("documents.reindex_busy")}></progress>
  </div>`;
}

function Reindexed({ report }) {
  const failed = report.outcomes.filter((one) => one.status === "failed");
  const count = report.outcomes.length - failed.length;
  return html`<p class="notice good">
      ${t("documents.reindex_done", { n: count, count: number(count), time: duration(report.seconds) })}</p>
    ${failed.length > 0 && html`<ul class="notice bad documents-failures">
      ${failed.map((one) => html`<li key=${one.name}><bdi>${visible(one.name)}</bdi>: ${visible(one.reason)}</li>`)}</ul>`}`;
}
