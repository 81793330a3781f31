// Browser storage that never throws: it may be disabled or full, and then values last for this visit only. Typed text is
// stored for the session, so that neither a reload nor another view loses it.
import { useState } from "./preact.js";

const TYPED = "veracity.typed.";

export const local = safeStorage(() => localStorage);
export const session = safeStorage(() => sessionStorage);

/** @param {() => Storage} open which throws where storage is disabled */
function safeStorage(open) {
  return {
    /** @param {string} name */
    get(name) {
      try { return open().getItem(name); } catch { return null; }
    },
    /**
     * Returns whether it was stored; null or "" removes the value.
     * @param {string} name
     * @param {string | null} value
     */
    set(name, value) {
      try {
        if (value) open().setItem(name, value);
        else open().removeItem(name);
        return true;
      } catch { return false; }
    },
    clear() {
      try { open().clear(); } catch { /* disabled: nothing is stored */ }
    },
  };
}

/** @param {string} field */
export const readTyped = (field) => session.get(TYPED + field);

/** @param {string} field @param {string | null} text */
export const storeTyped = (field, text) => session.set(TYPED + field, text);

/**
 * State that is stored as it changes. The text is null until something is typed. Needs a new component key per field.
 * @param {string} field
 * @returns {[string | null, (text: string | null) => void]}
 */
export function useTyped(field) {
  const [text, setText] = useState(() => readTyped(field));
  return [text, (next) => {
    setText(next);
    storeTyped(field, next);
  }];
}
