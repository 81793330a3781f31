// Dialogs, and the one that asks before something is done. Knows nothing about what that is.
import { html, useLayoutEffect, useRef } from "./vendor/preact.js";

// A dialog that is open as long as it is there. The browser keeps the focus inside, closes it on Esc, and gives it back.
export function useModal(onClose) {
  const dialog = useRef(null);
  const latest = useRef(onClose);
  latest.current = onClose;
  useLayoutEffect(() => { // at once: the next key belongs to it
    const opened = dialog.current;
    const closed = () => latest.current();
    opened.addEventListener("close", closed);
    opened.showModal();
    return () => {
      opened.removeEventListener("close", closed);
      opened.close();
    };
  }, []);
  return dialog;
}

// `isBound`: it is too late to cancel.
export function Question({ title, children, problem, waits, cancel, action, isDanger, isBusy, isBound, onAction, onClose }) {
  const dialog = useModal(onClose);
  return html`<dialog ref=${dialog} class="dialog" aria-labelledby="question-title" aria-describedby="question-text">
    <h2 id="question-title">${title}</h2>
    <div id="question-text" class="stack">${children}</div>
    ${problem && html`<p class="notice bad" role="alert">${problem}</p>`}
    <p role="status">${waits}</p>
    <div class="dialog-actions">
      <button type="button" autofocus disabled=${isBound} onClick=${() => dialog.current.close()}>${cancel}</button>
      <button type="button" class=${isDanger ? "danger" : "primary"} disabled=${isBusy} onClick=${onAction}>${action}</button>
    </div>
  </dialog>`;
}
