// The change to the documents that the server is working on, whoever started it.
import { html, useCallback, useEffect, useRef, useState } from "../lib/preact.js";
import { useDocumentEvents } from "../lib/feed.js";
import { asApiError, del, get } from "../lib/http.js";
import { number, t } from "../lib/i18n.js";
import { printable } from "../lib/text.js";
/** @import { Me, JobStatus } from "../lib/types.d.ts" */

/** @type {JobStatus} */
const NO_CHANGE = { under_way: false, number: 0, what: "", name: "", waiting: 0, by: "", upload: "", cancelled_by: "" };
const RELOAD_DELAY = 100; // milliseconds; the end of one change and the start of the next arrive together
const SHOW_DELAY = 600; // shorter changes are not shown

export function useChange() {
  const [change, setChange] = useState(NO_CHANGE);
  const load = useCallback(async () => setChange(await get("/api/documents/changes").catch(() => NO_CHANGE)), []); // the list shows the error
  useEffect(() => { load(); }, []);
  useDocumentEvents(load, RELOAD_DELAY);
  return change;
}

/** A sentence without its full stop. It names no file: that may have ended already. @param {JobStatus} change @param {Me} me */
export function describeChange({ what, by }, me) {
  if (what === "upload" && by && by !== me.user) return t("documents.change_upload_by", { name: printable(by) });
  return t(`documents.change_${what || "upload"}`);
}

/** `isOwn`: the list of uploaded files shows it. @param {{ change: JobStatus, me: Me, isOwn: boolean }} props */
export function ChangeStatus({ change, me, isOwn }) {
  const isUnderWay = change.under_way && !isOwn;
  const isShown = useDelayed(isUnderWay);
  const [problem, setProblem] = useState("");
  const wasSeen = useRef(false); // the end of a change is of interest only to those who saw it
  wasSeen.current ||= isUnderWay;
  const describeCancel = (/** @type {string} */ key) => change.cancelled_by === me.user
    ? t(`documents.${key}_you`)
    : t(`documents.${key}`, { name: printable(change.cancelled_by) });
  const wasCancelled = !change.under_way && !isOwn && wasSeen.current && change.cancelled_by;
  const mayCancel = isShown && me.role === "admin" && change.what !== "remove" && !change.cancelled_by;
  const cancel = () => del(`/api/documents/changes?number=${change.number}`).then(() => setProblem(""), (thrown) => {
    const error = asApiError(thrown);
    setProblem(error.status === 404 ? "" : error.message); // 404: the change has ended
  });
  return html`<div class=${isShown ? "notice documents-under-way" : ""}>
    ${isShown && html`<span class="spinner" aria-hidden="true"></span>`}
    <div role="status">
      ${isShown && html`<bdi>${describeChange(change, me)}</bdi>
        ${change.cancelled_by && html` · <bdi>${describeCancel("change_ending")}</bdi>`}
        ${change.waiting > 0 && html`<span class="muted"> · ${t("documents.change_waiting", { n: change.waiting, count: number(change.waiting) })}</span>`}`}
      ${wasCancelled && html`<p class="notice">${describeCancel("change_cancelled")}</p>`}
      ${problem && html`<p>${problem}</p>`}
    </div>
    ${mayCancel && html`<button class="small" onClick=${cancel}>${t("documents.cancel")}</button>`}
  </div>`;
}

/** Whether a condition has lasted for a while. @param {boolean} condition */
function useDelayed(condition) {
  const [hasLasted, setLasted] = useState(false);
  useEffect(() => {
    if (!condition) return setLasted(false);
    const timer = setTimeout(() => setLasted(true), SHOW_DELAY);
    return () => clearTimeout(timer);
  }, [condition]);
  return hasLasted && condition;
}
