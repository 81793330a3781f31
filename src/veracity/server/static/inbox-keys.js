// The keys of the inbox. They do nothing while somebody types, composes characters or holds a modifier.

import { html, useLayoutEffect, useRef } from "./vendor/preact.js";
import { t } from "./i18n.js";

const MAY_REPEAT = new Set(["j", "k"]);

/** `keys` maps a key to what it does; what returns false has done nothing, and the browser goes on. */
export function useKeys(keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => { // at once: somebody may press keys faster than the screen is drawn
    const pressed = (event) => {
      const act = latest.current[event.key];
      if (!act || isNotMeant(event)) return;
      if (act() !== false) event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}

function isNotMeant(event) {
  if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return true;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  if (event.repeat && !MAY_REPEAT.has(event.key)) return true;
  if (document.querySelector("dialog:modal")) return true;
  return event.key !== "Escape" && isTyping(event.target);
}

function isTyping(target) {
  return Boolean(target.closest?.("input, textarea, select, [contenteditable]"));
}

export function KeysHelp({ open, canDecide, onClose }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    if (open && !dialog.current.open) dialog.current.showModal();
    if (!open && dialog.current.open) dialog.current.close();
  }, [open]);
  const rows = [
    [["j"], "next"], [["k"], "previous"], [["Enter"], "open"], [["Esc"], "back"],
    ...(canDecide ? [[["a"], "approve"], [["r"], "reject"], [["e"], "edit"], [["Ctrl", "Enter"], "send"]] : []),
    [["?"], "help"],
  ];
  return html`
    <dialog class="inbox-keys" ref=${dialog} onClose=${onClose} aria-labelledby="inbox-keys-title"
      onClick=${(event) => event.target === dialog.current && onClose()}>
      <div class="inbox-keys-body">
        <h2 id="inbox-keys-title">${t("inbox.keys.title")}</h2>
        <dl>${rows.map(([pressed, name]) => html`
          <div key=${name}><dt>${pressed.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${t(`inbox.keys.${name}`)}</dd></div>`)}
        </dl>
        <button type="button" onClick=${onClose}>${t("inbox.keys.close")}</button>
      </div>
    </dialog>`;
}
