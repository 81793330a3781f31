// The keys of the inbox. They do nothing while somebody types, composes characters or holds a modifier.

import { html, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { t } from "./i18n.js";
import { useModal } from "./question.js";

const MAY_REPEAT = new Set(["j", "k"]);
const OFF = "veracity.keys.off";

let areOff = false;
try { areOff = localStorage.getItem(OFF) === "true"; } catch { /* storage may be switched off */ }

/** Keys that are letters or signs can be switched off: who speaks to the machine would press them by the way. */
export function useSwitch() {
  const [isOn, setOn] = useState(!areOff);
  const change = (next) => {
    areOff = !next;
    setOn(next);
    try { localStorage.setItem(OFF, areOff); } catch { /* then it holds for this visit only */ }
  };
  return [isOn, change];
}

/** For `aria-keyshortcuts`. */
export const shortcut = (key) => (areOff ? null : key);

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
  if (document.querySelector("dialog:modal, [aria-modal=true]")) return true; // those hear their keys themselves
  return event.key !== "Escape" && (areOff || isTyping(event.target));
}

function isTyping(target) {
  return Boolean(target.closest?.("input, textarea, select, [contenteditable]"));
}

export function KeysHelp({ canDecide, isOn, setOn, onClose }) {
  const dialog = useModal(onClose);
  const rows = [
    [["j"], "next"], [["k"], "previous"], [["Enter"], "open"], [["Esc"], "back"],
    ...(canDecide ? [[["a"], "approve"], [["r"], "reject"], [["e"], "edit"], [["Ctrl", "Enter"], "send"]] : []),
    [["?"], "help"],
  ];
  return html`
    <dialog class="dialog inbox-keys" ref=${dialog} aria-labelledby="inbox-keys-title"
      onClick=${(event) => event.target === dialog.current && onClose()}>
      <div class="inbox-keys-body">
        <h2 id="inbox-keys-title">${t("inbox.keys.title")}</h2>
        <dl>${rows.map(([pressed, name]) => html`
          <div key=${name}><dt>${pressed.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${t(`inbox.keys.${name}`)}</dd></div>`)}
        </dl>
        <label class="row"><input type="checkbox" checked=${isOn} onChange=${(event) => setOn(event.target.checked)} />
          ${t("inbox.keys.on")}</label>
        <button type="button" autofocus onClick=${onClose}>${t("inbox.keys.close")}</button>
      </div>
    </dialog>`;
}
