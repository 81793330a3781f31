// The words of the page in the language of whoever reads it, and its way of writing times and numbers.
// Knows nothing about what the words are for: each view brings its own in strings/VIEW.js.
import { useEffect, useState } from "./vendor/preact.js";
import shell from "./strings/shell.js";
import ask from "./strings/ask.js";
import answer from "./strings/answer.js";
import inbox from "./strings/inbox.js";
import conversations from "./strings/conversations.js";
import documents from "./strings/documents.js";
import evaluator from "./strings/evaluator.js";

export const LANGUAGES = { en: "English", zh: "中文", ja: "日本語" };
const TAGS = { en: "en", zh: "zh-Hans", ja: "ja" };
const REMEMBERED = "veracity.language";

const words = { en: {}, zh: {}, ja: {} };
for (const view of [shell, ask, answer, inbox, conversations, documents, evaluator]) {
  for (const language of Object.keys(words)) Object.assign(words[language], view[language]);
}

const listeners = new Set();
let current = chosen();
document.documentElement.lang = TAGS[current];

function chosen() {
  let remembered = null;
  try { remembered = localStorage.getItem(REMEMBERED); } catch { /* storage may be switched off */ }
  const wished = [remembered, ...(navigator.languages || [])].filter(Boolean).map((tag) => tag.slice(0, 2).toLowerCase());
  return wished.find((language) => language in LANGUAGES) || "en";
}

export function language() {
  return current;
}

export function setLanguage(next) {
  if (!(next in LANGUAGES)) return;
  current = next;
  document.documentElement.lang = TAGS[next];
  try { localStorage.setItem(REMEMBERED, next); } catch { /* then it holds for this visit only */ }
  listeners.forEach((listener) => listener(next));
}

// The language, for a component that must be drawn anew when it changes. (The shell redraws all of the page anyway.)
export function useLanguage() {
  const [value, setValue] = useState(current);
  useEffect(() => {
    listeners.add(setValue);
    return () => listeners.delete(setValue);
  }, []);
  return value;
}

// t("inbox.approve", {name}) puts values in place of {name}. With {n: 1} the key "….one" is preferred where there is one.
export function t(key, values = {}) {
  const form = values.n === 1 && `${key}.one` in words.en ? `${key}.one` : key;
  const text = words[current][form] ?? words.en[form] ?? form;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

// Whether there are words for this key: for names that come from elsewhere, such as steps and notices.
export function known(key) {
  return key in words.en;
}

export function number(value, digits = 0) {
  return new Intl.NumberFormat(TAGS[current], { maximumFractionDigits: digits }).format(value);
}

export function percent(share) {
  return new Intl.NumberFormat(TAGS[current], { style: "percent" }).format(share);
}

// 340 ms, 2.4 s, 3 min
export function duration(seconds) {
  if (seconds < 0.0995) return t("shell.milliseconds", { n: Math.max(1, Math.round(seconds * 1000)) });
  if (seconds < 9.95) return t("shell.seconds", { n: seconds.toFixed(1) });
  if (seconds < 120) return t("shell.seconds", { n: Math.round(seconds) });
  return t("shell.minutes", { n: Math.round(seconds / 60) });
}

export function dateTime(iso) {
  return new Intl.DateTimeFormat(TAGS[current], { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

// "5 minutes ago"; for an exact time use dateTime.
export function ago(iso) {
  const seconds = (new Date(iso).getTime() - Date.now()) / 1000;
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) || ["second", 1];
  const format = new Intl.RelativeTimeFormat(TAGS[current], { numeric: "auto" });
  return unit === "second" ? t("shell.justNow") : format.format(Math.round(seconds / size), unit);
}
