// Components that several views use: error notices, spinners, dialogs, a copy button and the page for unknown addresses.
import { html, useLayoutEffect, useRef, useState } from "./preact.js";
import { useConnectionLost } from "./connection.js";
import { t } from "./i18n.js";
/** @import { ComponentChildren } from "./preact.js" */

/** While the server cannot be reached, only the banner says so. @param {{ text: string, onRetry: () => void }} props */
export function ErrorNotice({ text, onRetry }) {
  if (useConnectionLost() && text === t("shell.offline")) return html`<${Loading} text=${t("shell.lost.waiting")} />`;
  return html`<div class="notice bad" role="alert"><span>${text}</span>
    <button type="button" class="small" onClick=${onRetry}>${t("shell.tryAgain")}</button></div>`;
}

/** @param {{ text: string }} props */
export function Loading({ text }) {
  return html`<p class="row muted"><span class="spinner"></span>${text}</p>`;
}

/** @param {{ title: string, lead?: string }} props */
export function NotFound({ title, lead = t("shell.notFound.lead") }) {
  return html`<div class="view"><div class="empty stack"><h1>${title}</h1><p>${lead}</p>
    <p><a class="button" href="#/">${t("shell.new")}</a></p></div></div>`;
}

/** `note` follows "Copied.". @param {{ label: string, text: () => string, note?: string }} props */
export function CopyButton({ label, text, note = "" }) {
  const [result, setResult] = useState("");
  const copy = async () => {
    setResult((await copyText(text())) ? "shell.copied" : "shell.notCopied");
    setTimeout(() => setResult(""), note ? 6000 : 2500);
  };
  return html`<button type="button" class="quiet small" onClick=${copy}>${label}</button>
    <span class="small muted" role="status">${result ? t(result) : ""}${result === "shell.copied" && note ? ` ${note}` : ""}</span>`;
}

/** The clipboard API needs HTTPS or localhost; a team's server may use plain HTTP. @param {string} text */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
    area.className = "visually-hidden";
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    focused?.focus({ preventScroll: true });
    return isCopied;
  }
}

/**
 * A ref for a dialog that is open while it is mounted. The browser traps focus and closes it on Esc.
 * @param {() => void} onClose
 */
export function useModal(onClose) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const latest = useRef(onClose);
  latest.current = onClose;
  useLayoutEffect(() => { // before the next key press
    const element = /** @type {HTMLDialogElement} */ (dialog.current);
    const closed = () => latest.current();
    element.addEventListener("close", closed);
    element.showModal();
    return () => {
      element.removeEventListener("close", closed);
      element.close();
    };
  }, []);
  return dialog;
}

/**
 * Asks before an action. `isCommitted`: it can no longer be cancelled.
 * @param {{ title: string, children?: ComponentChildren, problem?: string, status?: ComponentChildren, cancel: string, action: string,
 *   isDanger?: boolean, isBusy?: boolean, isCommitted?: boolean, onAction: () => void, onClose: () => void }} props
 */
export function ConfirmDialog({ title, children, problem, status, cancel, action, isDanger, isBusy, isCommitted, onAction, onClose }) {
  const dialog = useModal(onClose);
  return html`<dialog ref=${dialog} class="dialog" aria-labelledby="dialog-title" aria-describedby="dialog-text">
    <h2 id="dialog-title">${title}</h2>
    <div id="dialog-text" class="stack">${children}</div>
    ${problem && html`<p class="notice bad" role="alert">${problem}</p>`}
    <p role="status">${status}</p>
    <div class="dialog-actions">
      <button type="button" autofocus disabled=${isCommitted} onClick=${() => dialog.current?.close()}>${cancel}</button>
      <button type="button" class=${isDanger ? "danger" : "primary"} disabled=${isBusy} onClick=${onAction}>${action}</button>
    </div>
  </dialog>`;
}

/**
 * Whether Enter ends a composition of an input method. keyCode 229 is how some browsers report it.
 * @param {KeyboardEvent} event
 */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/** Ctrl or Cmd with Enter, which submits a form from its text field. @param {KeyboardEvent} event */
export const isSubmitKey = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && !isComposing(event);

/**
 * An event handler that passes on the value of an input, textarea or select.
 * @param {(value: string) => void} handler
 */
export const withValue = (handler) => (/** @type {Event} */ event) => handler(/** @type {HTMLInputElement} */ (event.currentTarget).value);
