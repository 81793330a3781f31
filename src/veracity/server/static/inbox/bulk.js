// Deciding on several drafts at once: they are selected in the list, and a dialog asks before anything is sent.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { ConfirmDialog, withValue } from "../lib/components.js";
import { asApiError } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { assign, useApprovers } from "./assignee.js";
import { randomKey, sendDecision } from "./decision.js";
/** @import { Approval, Me } from "../lib/types.d.ts" */

/**
 * Selects every draft that the list shows, or none.
 * @param {{ rows: Approval[], selected: Approval[], setSelection: (selection: Set<string>) => void }} props
 */
export function SelectAll({ rows, selected, setSelection }) {
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  const ids = rows.filter(({ state }) => state === "pending").map(({ approval_id: id }) => id);
  const areAll = selected.length === ids.length;
  useEffect(() => { if (box.current) box.current.indeterminate = selected.length > 0 && !areAll; });
  if (ids.length < 2) return null;
  return html`<label class="inbox-all small"><input ref=${box} type="checkbox" checked=${areAll}
    onChange=${() => setSelection(new Set(areAll ? [] : ids))} />${t("inbox.bulk.all", { n: ids.length })}</label>`;
}

/**
 * The bar above the list. `onDecided` gets what was decided.
 * @param {{ me: Me, selected: Approval[], merge: (approvals: Approval[]) => void, onDecided: (decided: Approval[]) => void,
 *   onClear: () => void }} props
 */
export function BulkBar({ me, selected, merge, onDecided, onClear }) {
  const [action, setAction] = useState("");
  const names = useApprovers();
  if (!selected.length) return null;
  return html`<div class="inbox-bulk" role="group" aria-label=${t("inbox.bulk")}>
    <span>${t("inbox.bulk.selected", { n: selected.length })}</span>
    <button type="button" class="small" onClick=${() => setAction("approve")}>${t("inbox.bulk.approve")}</button>
    <button type="button" class="small danger" onClick=${() => setAction("reject")}>${t("inbox.bulk.reject")}</button>
    <label><span class="visually-hidden">${t("inbox.assignee")}</span>
      <select class="small" value="" onChange=${withValue((name) => name && setAction(`assign ${name}`))}>
        <option value="">${t("inbox.bulk.assign")}</option>${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select></label>
    <button type="button" class="quiet small" onClick=${onClear}>${t("inbox.bulk.clear")}</button>
    ${action && html`<${Confirmation} me=${me} action=${action} selected=${selected} merge=${merge} onDecided=${onDecided} onClose=${() => setAction("")} />`}
  </div>`;
}

/**
 * @param {{ me: Me, action: string, selected: Approval[], merge: (approvals: Approval[]) => void,
 *   onDecided: (decided: Approval[]) => void, onClose: () => void }} props
 */
function Confirmation({ me, action, selected, merge, onDecided, onClose }) {
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [kind, ...rest] = action.split(" ");
  const name = rest.join(" ");
  const act = (/** @type {Approval} */ approval) => (kind === "assign" ? assign(approval.approval_id, name)
    : sendDecision(approval, { verdict: /** @type {"approve" | "reject"} */ (kind), reason: reason.trim(), hold: me.undo_seconds }, randomKey(), () => {}));
  const run = async () => {
    setBusy(true);
    const results = await Promise.allSettled(selected.map(act));
    const changed = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failed = results.filter((result) => result.status === "rejected");
    merge(changed);
    if (changed.length) onDecided(changed.filter(({ state }) => state !== "pending"));
    setBusy(false);
    if (!failed.length) return onClose();
    return setProblem(t("inbox.bulk.failed", { n: failed.length, problem: asApiError(failed[0].reason).message }));
  };
  const searches = selected.filter(({ on_reject: next }) => next === "search").length;
  return html`<${ConfirmDialog} title=${t(`inbox.bulk.${kind}.title`, { n: selected.length, name })} problem=${problem} isBusy=${isBusy}
      isDanger=${kind === "reject"} cancel=${t("inbox.form.cancel")} action=${t(`inbox.bulk.${kind}.send`)} onAction=${run} onClose=${onClose}>
    ${kind === "approve" && html`<p>${t("inbox.bulk.approve.text")}</p>`}
    ${kind === "reject" && html`${searches > 0 && html`<p>${t("inbox.bulk.reject.text", { n: searches })}</p>`}
      <label class="stack">${t("inbox.form.reason")}<textarea rows="2" maxlength="2000" value=${reason} onInput=${withValue(setReason)}></textarea></label>`}
  <//>`;
}
