// Translated strings, and numbers and times as the reader's language writes them. The strings are in locales/.
import { useEffect, useState } from "./preact.js";
import { local } from "./storage.js";

/** @type {Record<string, string>} */
export const LANGUAGES = { en: "English", zh: "中文", ja: "日本語" };
/** @type {Record<string, string>} */
const TAGS = { en: "en", zh: "zh-Hans", ja: "ja" };

/** @type {Set<(language: string) => void>} */
const listeners = new Set();
let current = window.boot.language;
let requested = current;
let strings = await window.boot.strings;
document.documentElement.lang = TAGS[current];

export function language() {
  return current;
}

/** Loads the strings of another language, then redraws the page. @param {string} next */
export async function setLanguage(next) {
  requested = next;
  const loaded = await window.boot.loadStrings(next).catch(() => null);
  if (!loaded || requested !== next) return;
  strings = loaded;
  current = next;
  document.documentElement.lang = TAGS[next];
  local.set("veracity.language", next);
  listeners.forEach((listener) => listener(next));
}

/** Redraws the calling component, and what it contains, when the language changes. */
export function useLanguage() {
  const [value, setValue] = useState(current);
  useEffect(() => {
    listeners.add(setValue);
    return () => { listeners.delete(setValue); };
  }, []);
  return value;
}

/**
 * The string for a key, with values for its {placeholders}. With {n: 1} it prefers the key "….one" where that exists.
 * @param {string} key
 * @param {Record<string, unknown>} values
 */
export function t(key, values = {}) {
  const form = values.n === 1 && hasText(`${key}.one`) ? `${key}.one` : key;
  return (strings[form] ?? form).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Whether a key exists, for keys built from names that the server sends. @param {string} key */
export function hasText(key) {
  return Object.hasOwn(strings, key);
}

/** The string for a name that the server sends, or the name itself. @param {string} prefix @param {string} name */
export function nameOf(prefix, name) {
  return hasText(prefix + name) ? t(prefix + name) : name;
}

/** @param {number} value */
export function number(value) {
  return new Intl.NumberFormat(TAGS[current], { maximumFractionDigits: 0 }).format(value);
}

/** @param {number} share from 0 to 1 @param {number} digits after the point */
export function percent(share, digits = 0) {
  return new Intl.NumberFormat(TAGS[current], { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits }).format(share);
}

/**
 * A score from 0 to 1 as a whole number from 0 to 100. A score below the threshold never rounds up to it.
 * @param {number} score
 * @param {number} threshold
 */
export function points(score, threshold = 0) {
  const rounded = Math.round(score * 100);
  const limit = Math.round(threshold * 100);
  return score < threshold && rounded >= limit ? limit - 1 : rounded;
}

/** 340 ms, 2.4 s, 3 min @param {number} seconds */
export function duration(seconds) {
  if (seconds < 0.0995) return t("shell.milliseconds", { n: Math.max(1, Math.round(seconds * 1000)) });
  if (seconds < 9.95) return t("shell.seconds", { n: seconds.toFixed(1) });
  if (seconds < 120) return t("shell.seconds", { n: Math.round(seconds) });
  return t("shell.minutes", { n: Math.round(seconds / 60) });
}

/** @param {string} iso */
export function dateTime(iso) {
  return new Intl.DateTimeFormat(TAGS[current], { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

/** "today", "yesterday" or the date @param {string} iso */
export function day(iso) {
  const date = new Date(iso);
  const days = Math.round((new Date(date).setHours(0, 0, 0, 0) - new Date().setHours(0, 0, 0, 0)) / 86400000);
  if (days === 0 || days === -1) return new Intl.RelativeTimeFormat(TAGS[current], { numeric: "auto" }).format(days, "day");
  return new Intl.DateTimeFormat(TAGS[current], { dateStyle: "full" }).format(date);
}

/** "5 minutes ago" @param {string} iso */
export function ago(iso) {
  const seconds = (new Date(iso).getTime() - Date.now()) / 1000;
  /** @type {[Intl.RelativeTimeFormatUnit, number][]} */
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const unit = units.find(([, length]) => Math.abs(seconds) >= length);
  if (!unit) return t("shell.justNow");
  const format = new Intl.RelativeTimeFormat(TAGS[current], { numeric: "auto" });
  return format.format(Math.round(seconds / unit[1]), unit[0]);
}
