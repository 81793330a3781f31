// Keyboard shortcuts of the inbox. They are ignored while somebody types, and can be switched off.
import { html, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { isComposing, useModal } from "../lib/components.js";
import { t } from "../lib/i18n.js";
import { local } from "../lib/storage.js";

const REPEATABLE = new Set(["j", "k"]);
const SETTING = "veracity.keys.off";

let areOff = local.get(SETTING) === "true";

/**
 * Speech input would press single letters by accident, so they can be switched off.
 * @returns {[boolean, (isOn: boolean) => void]}
 */
export function useKeysSetting() {
  const [isOn, setOn] = useState(!areOff);
  return [isOn, (next) => {
    areOff = !next;
    setOn(next);
    local.set(SETTING, String(areOff));
  }];
}

/** For `aria-keyshortcuts`. @param {string} key */
export const shortcut = (key) => (areOff ? null : key);

/**
 * Maps keys to actions. An action that returns false leaves the key to the browser.
 * @param {Record<string, () => unknown>} keys
 */
export function useKeys(keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => { // keys may be pressed before the next paint
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      const act = latest.current[event.key];
      if (!act || isIgnored(event)) return;
      if (act() !== false) event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** @param {KeyboardEvent} event */
function isIgnored(event) {
  if (event.defaultPrevented || isComposing(event)) return true;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  if (event.repeat && !REPEATABLE.has(event.key)) return true;
  if (document.querySelector("dialog:modal, [aria-modal=true]")) return true; // dialogs handle their own keys
  return event.key !== "Escape" && (areOff || isField(event.target));
}

/** @param {EventTarget | null} target */
function isField(target) {
  return target instanceof Element && Boolean(target.closest("input, textarea, select, [contenteditable]"));
}

/** @param {{ canDecide: boolean, isOn: boolean, setOn: (isOn: boolean) => void, onClose: () => void }} props */
export function KeysHelp({ canDecide, isOn, setOn, onClose }) {
  const dialog = useModal(onClose);
  /** @type {[string[], string][]} */
  const rows = [
    [["j"], "next"], [["k"], "previous"], [["Enter"], "open"], [["Esc"], "back"],
    ...(canDecide ? /** @type {[string[], string][]} */ ([[["a"], "approve"], [["r"], "reject"], [["e"], "edit"], [["s"], "sendBack"], [["z"], "undo"], [["Ctrl", "Enter"], "send"]]) : []),
    [["?"], "help"],
  ];
  return html`
    <dialog class="dialog inbox-keys" ref=${dialog} aria-labelledby="inbox-keys-title"
      onClick=${(/** @type {Event} */ event) => event.target === dialog.current && onClose()}>
      <div class="inbox-keys-body">
        <h2 id="inbox-keys-title">${t("inbox.keys.title")}</h2>
        <dl>${rows.map(([keys, name]) => html`
          <div key=${name}><dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${t(`inbox.keys.${name}`)}</dd></div>`)}
        </dl>
        <label class="row"><input type="checkbox" checked=${isOn}
          onChange=${(/** @type {Event} */ event) => setOn(/** @type {HTMLInputElement} */ (event.target).checked)} />
          ${t("inbox.keys.on")}</label>
        <button type="button" autofocus onClick=${onClose}>${t("inbox.keys.close")}</button>
      </div>
    </dialog>`;
}
