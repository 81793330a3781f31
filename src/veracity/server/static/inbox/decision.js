// Deciding on a draft: the buttons, the forms to reject and to send back, and sending the decision with retries.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { isSubmitKey, withValue } from "../lib/components.js";
import { asApiError, get, post } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { shortcut } from "./keys.js";
import { approvalPath } from "./store.js";
/** @import { ApiError } from "../lib/http.js" */
/** @import { Approval } from "../lib/types.d.ts" */

/**
 * @typedef {{ verdict: "approve" | "reject" | "send_back", reason?: string, edit?: string, hold?: number }} DecisionBody
 * @typedef {"" | "sending" | "retrying" | "late" | "changed" | { problem: string }} SendState "late": somebody else decided first
 */

const RETRY_DELAYS = [500, 1500, 4000, 8000]; // milliseconds

/**
 * An abstention for which the web can be searched: the question is not whether to reject it, but what to do.
 * @param {Approval} approval
 */
export const offersWebSearch = (approval) => approval.why === "abstained" && approval.on_reject === "search";

/**
 * Repeats with the same idempotency key, so that a lost response does not decide twice.
 * @param {Approval} approval
 * @param {DecisionBody} decision
 * @param {string} key
 * @param {() => void} onRetry
 * @returns {Promise<Approval>}
 */
export async function sendDecision(approval, decision, key, onRetry) {
  const body = { ...decision, draft_hash: approval.draft_hash };
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await post(`${approvalPath(approval.approval_id)}/decision`, body, { "Idempotency-Key": key });
    } catch (thrown) {
      const error = asApiError(thrown);
      if (!error.isRetryable || attempt === RETRY_DELAYS.length) throw error;
      onRetry();
      await new Promise((resolve) => setTimeout(resolve, Math.max(RETRY_DELAYS[attempt], error.retryAfter * 1000)));
    }
  }
}

/** crypto.randomUUID needs HTTPS or localhost. */
export function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * `onDecided` gets the decided approval.
 * @param {Approval} approval
 * @param {(approvals: Approval[]) => void} merge
 * @param {(decided: Approval) => void} onDecided
 */
export function useDecision(approval, merge, onDecided) {
  const [state, setState] = useState(/** @type {SendState} */ (""));
  const keys = useRef(/** @type {Map<string, string>} */ (new Map()));
  const isSending = useRef(false);
  useEffect(() => { setState(""); }, [approval.approval_id]);

  const decide = useCallback(async (/** @type {DecisionBody} */ decision) => {
    if (isSending.current || approval.state !== "pending") return false;
    isSending.current = true;
    setState("sending");
    const content = JSON.stringify([approval.approval_id, approval.draft_hash, decision]);
    const key = keys.current.get(content) ?? randomKey();
    keys.current.set(content, key);
    try {
      const decided = await sendDecision(approval, decision, key, () => setState("retrying"));
      merge([decided]);
      setState("");
      onDecided(decided);
      return true;
    } catch (error) {
      setState(await handleError(approval, asApiError(error), merge));
      return false;
    } finally {
      isSending.current = false;
    }
  }, [approval, merge, onDecided]);

  return { state, decide, isBusy: state === "sending" || state === "retrying" };
}

/**
 * @param {Approval} approval
 * @param {ApiError} error
 * @param {(approvals: Approval[]) => void} merge
 * @returns {Promise<SendState>}
 */
async function handleError(approval, error, merge) {
  if (error.status !== 409 || error.kind === "BusyError") return { problem: error.message };
  /** @type {Approval | null} */
  const current = await get(approvalPath(approval.approval_id)).catch(() => null);
  if (!current) return { problem: error.message };
  merge([current]);
  return current.state === "pending" ? "changed" : "late";
}

/**
 * @param {{ approval: Approval, isBusy: boolean, onApprove: () => void, onReject: () => void, onEdit: () => void,
 *   onSendBack: () => void }} props
 */
export function Actions({ approval, isBusy, onApprove, onReject, onEdit, onSendBack }) {
  const kind = offersWebSearch(approval) ? ".abstained" : "";
  const sentBack = approval.draft.decisions.filter(({ verdict }) => verdict === "send_back").length;
  const isLimit = sentBack > 0 && approval.send_backs < 1;
  return html`
    <div class="inbox-actions" role="group" aria-label=${t("inbox.actions")}>
      <button type="button" class="primary" disabled=${isBusy} onClick=${onApprove} aria-keyshortcuts=${shortcut("a")}>
        <${Icon} name="check" />${t(`inbox.approve${kind}`)}<kbd aria-hidden="true">a</kbd></button>
      <button type="button" disabled=${isBusy} onClick=${onEdit} aria-keyshortcuts=${shortcut("e")}>
        <${Icon} name="edit" />${t("inbox.edit")}<kbd aria-hidden="true">e</kbd></button>
      ${(approval.send_backs > 0 || isLimit) && html`<button type="button" disabled=${isBusy || isLimit} onClick=${onSendBack}
        aria-keyshortcuts=${shortcut("s")} aria-describedby=${isLimit ? "inbox-limit" : null}>
        <${Icon} name="again" />${t("inbox.sendBack")}<kbd aria-hidden="true">s</kbd></button>`}
      <button type="button" class=${kind ? "" : "danger"} disabled=${isBusy} onClick=${onReject} aria-keyshortcuts=${shortcut("r")}>
        <${Icon} name=${kind ? "globe" : "cross"} />${t(`inbox.reject${kind}`)}<kbd aria-hidden="true">r</kbd></button>
    </div>
    ${isLimit && html`<p id="inbox-limit" class="small muted">${t("inbox.sendBack.limit", { n: sentBack })}</p>`}`;
}

/** @param {{ approval: Approval, isBusy: boolean, reason: string, setReason: (reason: string) => void, onSend: () => void, onCancel: () => void }} props */
export function RejectForm({ approval, isBusy, reason, setReason, onSend, onCancel }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const kind = offersWebSearch(approval) ? ".abstained" : "";
  useLayoutEffect(() => { field.current?.focus(); }, []); // before the next key press
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    onSend();
  };
  return html`
    <form class="inbox-form" onSubmit=${submit} aria-labelledby="inbox-reject-title">
      <h3 id="inbox-reject-title">${t(`inbox.form.reject${kind}`)}</h3>
      <label for="inbox-reason">${t("inbox.form.reason")}</label>
      <textarea id="inbox-reason" ref=${field} rows="2" maxlength="2000" value=${reason} aria-describedby="inbox-reason-hint"
        onInput=${withValue(setReason)} onKeyDown=${(/** @type {KeyboardEvent} */ event) => isSubmitKey(event) && submit(event)}></textarea>
      <p id="inbox-reason-hint" class="muted small">
        ${kind ? "" : t("shell.sentences", { one: t(`inbox.reject.${approval.on_reject}`), other: "" })}${t("inbox.form.reason.hint")}</p>
      <div class="row">
        <button type="submit" class=${kind ? "primary" : "danger"} disabled=${isBusy}>
          ${t(`inbox.form.reject.send${kind || (approval.on_reject === "search" ? ".search" : "")}`)}</button>
        <button type="button" class="quiet" disabled=${isBusy} onClick=${onCancel}>${t("inbox.form.cancel")}</button>
      </div>
    </form>`;
}

/** @param {{ approval: Approval, isBusy: boolean, note: string, setNote: (note: string) => void, onSend: () => void, onCancel: () => void }} props */
export function SendBackForm({ approval, isBusy, note, setNote, onSend, onCancel }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => { field.current?.focus(); }, []); // before the next key press
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (note.trim()) onSend();
    else field.current?.focus();
  };
  return html`
    <form class="inbox-form" onSubmit=${submit} aria-labelledby="inbox-back-title">
      <h3 id="inbox-back-title">${t("inbox.form.sendBack")}</h3>
      <label for="inbox-note">${t("inbox.form.note")}</label>
      <textarea id="inbox-note" ref=${field} rows="3" maxlength="2000" required value=${note} aria-describedby="inbox-note-hint"
        onInput=${withValue(setNote)} onKeyDown=${(/** @type {KeyboardEvent} */ event) => isSubmitKey(event) && submit(event)}></textarea>
      <p id="inbox-note-hint" class="muted small">${t("shell.sentences", { one: t("inbox.form.note.hint", { n: approval.send_backs }), other: t("inbox.form.reason.hint") })}</p>
      <div class="row">
        <button type="submit" class="primary" disabled=${isBusy}>${t("inbox.form.sendBack.send")}</button>
        <button type="button" class="quiet" disabled=${isBusy} onClick=${onCancel}>${t("inbox.form.cancel")}</button>
      </div>
    </form>`;
}

/** @param {{ state: SendState }} props */
export function SendStatus({ state }) {
  if (typeof state === "object") {
    return html`<div class="inbox-sending" aria-live="assertive"><p class="notice bad">${t("inbox.failed", state)}</p></div>`;
  }
  const keys = { "": "", sending: "inbox.sending", retrying: "inbox.sending.again", late: "inbox.late", changed: "inbox.decided.changed" };
  const tone = state === "late" || state === "changed" ? "warn" : "";
  return html`<div class="inbox-sending" aria-live="assertive">${state && html`<p class=${`notice ${tone}`}>${t(keys[state])}</p>`}</div>`;
}
