// The dialog to remove a document.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { ConfirmDialog } from "../lib/components.js";
import { ApiError, send } from "../lib/http.js";
import { number, t } from "../lib/i18n.js";
import { printable } from "../lib/text.js";
import { describeChange } from "./changes.js";
/** @import { KnownDocument, JobStatus, Me } from "../lib/types.d.ts" */

/**
 * The removal waits for the current `change`; closing the dialog meanwhile cancels it.
 * @param {{ document: KnownDocument, change: JobStatus, me: Me, onRemoved: (document: KnownDocument) => void, onClose: () => void }} props
 */
export function RemoveDialog({ document, change, me, onRemoved, onClose }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const abort = useRef(new AbortController());
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => () => abort.current.abort(), []);

  async function remove() {
    setBusy(true);
    setProblem("");
    try {
      await send("DELETE", `/api/document?id=${encodeURIComponent(document.id)}`, { signal: abort.current.signal });
      onRemoved(document);
    } catch (error) {
      if (!(error instanceof ApiError)) return; // aborted
      setBusy(false);
      setProblem(describeError(error, latest.current, me));
    }
  }

  const isWaiting = isBusy && change.under_way && change.what !== "remove";
  return html`<${ConfirmDialog} title=${t("documents.remove_title")} problem=${problem} onClose=${onClose}
    status=${isWaiting && t("documents.remove_waits", { why: describeChange(change, me) })}
    action=${t(isBusy ? "documents.removing" : "documents.remove")} isDanger isBusy=${isBusy} onAction=${remove}
    cancel=${t("documents.cancel")}>
    <p class="dialog-named"><bdi>${printable(document.title || document.id)}</bdi></p>
    <ul class="documents-consequences">
      <li>${t("documents.remove_found", { n: document.passages, passages: number(document.passages) })}</li>
      <li>${t("documents.remove_receipts")}</li>
      <li>${t("documents.remove_file")}</li>
    </ul>
    <p>${t("documents.remove_final")}</p>
  <//>`;
}

/** @param {ApiError} error @param {JobStatus} change @param {Me} me */
function describeError(error, change, me) {
  const isBlocked = error.kind === "BusyError" && change.under_way;
  return isBlocked ? t("documents.remove_busy", { why: describeChange(change, me) }) : error.message;
}
