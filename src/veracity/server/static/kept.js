// What somebody types, kept for the visit: neither a reload nor another view loses it. Knows nothing about what it is for.
import { useState } from "./vendor/preact.js";

const PREFIX = "veracity.typed.";

export function kept(place) {
  try { return sessionStorage.getItem(PREFIX + place); } catch { return null; }
}

export function keep(place, text) {
  try {
    if (text) sessionStorage.setItem(PREFIX + place, text);
    else sessionStorage.removeItem(PREFIX + place);
  } catch { /* storage may be switched off or full */ }
}

// [text, setText]; the text is null until something is typed. A component that moves to another place needs another key.
export function useKept(place) {
  const [text, setText] = useState(() => kept(place));
  const change = (next) => {
    setText(next);
    keep(place, next);
  };
  return [text, change];
}
