// What is asked before documents are removed or indexed anew, and how far the indexing is.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { upload } from "./api.js";
import { duration, number, t } from "./i18n.js";
import { reasonOf } from "./documents-changes.js";
import { Question } from "./question.js";
import { inOwnWords } from "./reasons.js";
import { send } from "./requests.js";
import { visible } from "./visible.js";

// `change` is what else is being done to the documents. Who leaves while it waits for that has not removed anything.
export function RemoveDialog({ document: one, change, onRemoved, onClose }) {
  const [standing, setStanding] = useState({ busy: false, problem: "" });
  const leaving = useRef(new AbortController());
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => () => leaving.current.abort(), []);

  async function remove() {
    setStanding({ busy: true, problem: "" });
    try {
      await send("DELETE", `/api/document?id=${encodeURIComponent(one.id)}`, { signal: leaving.current.signal });
      onRemoved(one);
    } catch (problem) {
      if (problem.name !== "AbortError") setStanding({ busy: false, problem: told(problem, latest.current) });
    }
  }

  const isWaiting = standing.busy && change.under_way && change.what !== "remove";
  return html`<${Question} title=${t("documents.remove_title")} problem=${standing.problem} onClose=${onClose}
    waits=${isWaiting && t("documents.remove_waits", { why: reasonOf(change) })}
    action=${t(standing.busy ? "documents.removing" : "documents.remove")} isDanger isBusy=${standing.busy} onAction=${remove}
    cancel=${t("documents.cancel")}>
    <p class="dialog-named"><bdi>${visible(one.title || one.id)}</bdi></p>
    <ul class="documents-consequences">
      <li>${t("documents.remove_found", { n: one.passages, passages: number(one.passages) })}</li>
      <li>${t("documents.remove_receipts")}</li>
      <li>${t("documents.remove_file")}</li>
    </ul>
    <p>${t("documents.remove_final")}</p>
  <//>`;
}

function told(problem, change) {
  const isKnown = problem.kind === "BusyError" && change.under_way;
  return isKnown ? t("documents.remove_busy", { why: reasonOf(change) }) : problem.message;
}

export function ReindexDialog({ onStart, onClose }) {
  return html`<${Question} title=${t("documents.reindex_title")} onClose=${onClose} action=${t("documents.reindex")}
    cancel=${t("documents.cancel")} onAction=${() => { onStart(); onClose(); }}><p>${t("documents.reindex_what")}</p><//>`;
}

// {start, shown}: how to begin, and what to show of it.
export function useReindexing() {
  const [standing, setStanding] = useState(null);

  async function start() {
    let told = "";
    setStanding({ done: 0, count: 0 });
    const onEvent = (kind, data) => {
      if (kind === "waiting") setStanding({ done: 0, count: 0, isHeld: data.ahead > 0 });
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

  const busy = Boolean(standing && "done" in standing);
  return { start, busy, shown: standing && Reindexing(standing) };
}

function Reindexing({ done, count, isHeld, report, problem }) {
  if (problem) return html`<p class="notice bad" role="alert">${problem}</p>`;
  if (report) return html`<div role="status"><${Reindexed} report=${report} /></div>`;
  const values = { done: number(done), count: number(count) };
  return html`<div class="card documents-reindexing" role="status">
    <div class="row spread"><strong>${t(isHeld ? "documents.reindex_held" : "documents.reindex_busy")}</strong>
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
      ${failed.map((one) => html`<li key=${one.name}><bdi>${visible(one.name)}</bdi>: ${visible(inOwnWords(one.reason))}</li>`)}</ul>`}`;
}
