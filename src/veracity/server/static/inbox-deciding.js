// Deciding on a draft: the buttons, the forms to reject and to edit, and the sending, which may be repeated without
// harm. Knows nothing about what a decision leads to.

import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { get, post } from "./api.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { shortcut } from "./inbox-keys.js";
import { addressOf } from "./inbox-store.js";
import { isOffer } from "./inbox-words.js";

const WAITS = [500, 1500, 4000, 8000]; // milliseconds before each further attempt

/** What is sent twice under one key counts once: a lost reply is no reason to decide again. */
async function send(approval, decision, key, onAgain) {
  const body = { ...decision, draft_hash: approval.draft_hash };
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await post(`${addressOf(approval.approval_id)}/decision`, body, { "Idempotency-Key": key });
    } catch (refused) {
      if (!refused.retriable || attempt === WAITS.length) throw refused;
      onAgain();
      await new Promise((resolve) => setTimeout(resolve, Math.max(WAITS[attempt], (refused.retryAfter || 0) * 1000)));
    }
  }
}

/** crypto.randomUUID exists only where the page came over HTTPS or from this machine. */
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** `state`: "" (nothing sent), "sending", "again", "late" (another decided first), "changed", or {problem}. */
export function useDeciding(approval, merge) {
  const [state, setState] = useState("");
  const keys = useRef(new Map());
  const busy = useRef(false);
  useEffect(() => { setState(""); }, [approval?.approval_id]);

  const decide = useCallback(async (decision) => {
    if (busy.current || approval?.state !== "pending") return false;
    busy.current = true;
    setState("sending");
    const said = JSON.stringify([approval.approval_id, approval.draft_hash, decision]);
    if (!keys.current.has(said)) keys.current.set(said, newKey());
    try {
      merge([await send(approval, decision, keys.current.get(said), () => setState("again"))]);
      setState("");
      return true;
    } catch (refused) {
      setState(await afterRefusal(approval, refused, merge));
      return false;
    } finally {
      busy.current = false;
    }
  }, [approval, merge]);

  return { state, decide, isBusy: state === "sending" || state === "again" };
}

async function afterRefusal(approval, refused, merge) {
  if (refused.status !== 409 || refused.kind === "BusyError") return { problem: refused.message };
  const fresh = await get(addressOf(approval.approval_id)).catch(() => null);
  if (!fresh) return { problem: refused.message };
  merge([fresh]);
  return fresh.state === "pending" ? "changed" : "late";
}

export function Actions({ approval, isBusy, onApprove, onReject, onEdit }) {
  const kind = isOffer(approval) ? ".abstained" : "";
  return html`
    <div class="inbox-actions" role="group" aria-label=${t("inbox.actions")}>
      <button type="button" class="primary" disabled=${isBusy} onClick=${onApprove} aria-keyshortcuts=${shortcut("a")}>
        <${Icon} name="check" />${t(`inbox.approve${kind}`)}<kbd aria-hidden="true">a</kbd></button>
      <button type="button" disabled=${isBusy} onClick=${onEdit} aria-keyshortcuts=${shortcut("e")}>
        <${Icon} name="edit" />${t("inbox.edit")}<kbd aria-hidden="true">e</kbd></button>
      <button type="button" class=${kind ? "" : "danger"} disabled=${isBusy} onClick=${onReject} aria-keyshortcuts=${shortcut("r")}>
        <${Icon} name=${kind ? "globe" : "cross"} />${t(`inbox.reject${kind}`)}<kbd aria-hidden="true">r</kbd></button>
    </div>`;
}

/** Ctrl or Cmd with Enter sends a form from its text field; Enter alone is a new line. */
export function sendsForm(event) {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing && event.keyCode !== 229;
}

export function RejectForm({ approval, isBusy, reason, setReason, onSend, onCancel }) {
  const field = useRef(null);
  const kind = isOffer(approval) ? ".abstained" : "";
  useLayoutEffect(() => { field.current.focus(); }, []); // at once: the next key belongs to it
  const submit = (event) => {
    event.preventDefault();
    onSend();
  };
  return html`
    <form class="inbox-form" onSubmit=${submit} aria-labelledby="inbox-reject-title">
      <h3 id="inbox-reject-title">${t(`inbox.form.reject${kind}`)}</h3>
      <label for="inbox-reason">${t("inbox.form.reason")}</label>
      <textarea id="inbox-reason" ref=${field} rows="2" maxlength="2000" value=${reason} aria-describedby="inbox-reason-hint"
        onInput=${(event) => setReason(event.target.value)} onKeyDown=${(event) => sendsForm(event) && submit(event)}></textarea>
      <p id="inbox-reason-hint" class="muted small">
        ${kind ? "" : t("shell.sentences", { one: t(`inbox.reject.${approval.on_reject}`), other: "" })}${t("inbox.form.reason.hint")}</p>
      <div class="row">
        <button type="submit" class=${kind ? "primary" : "danger"} disabled=${isBusy}>
          ${t(`inbox.form.reject.send${kind || (approval.on_reject === "search" ? ".search" : "")}`)}</button>
        <button type="button" class="quiet" disabled=${isBusy} onClick=${onCancel}>${t("inbox.form.cancel")}</button>
      </div>
    </form>`;
}

export function Sending({ state }) {
  const text =
    state === "sending" ? t("inbox.sending")
    : state === "again" ? t("inbox.sending.again")
    : state === "late" ? t("inbox.late")
    : state === "changed" ? t("inbox.decided.changed")
    : state.problem ? t("inbox.failed", { problem: state.problem })
    : "";
  const tone = state.problem ? "bad" : state === "late" || state === "changed" ? "warn" : "";
  return html`<div class="inbox-sending" aria-live="assertive">${text && html`<p class=${`notice ${tone}`}>${text}</p>`}</div>`;
}
