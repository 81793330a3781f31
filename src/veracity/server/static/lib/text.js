// Text from documents, models and other users, made safe to read; its language; and offsets as the server counts them.
import { language } from "./i18n.js";

// Controls, format characters (direction overrides, zero-width characters, tags), private use, unpaired surrogates and
// blank letters are invisible, so a replacement character shows them. Line breaks, tabs and soft hyphens stay.
const INVISIBLE = /(?![\n\r\t\u00ad\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u115f\u1160\u3164\uffa0\u034f]/gu;
const STRAY_JOINER = /(?<!\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d|\u200d(?!\p{Extended_Pictographic})/gu;
// One variation selector belongs to a character; a row of them can hide a message.
const SELECTORS = /([\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;
// Stacked accents paint over the lines above and below.
const STACKED = /(\p{Mn}{4})\p{Mn}+/gu;
const SUSPECT = /[^\n\r\t\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]/u;

const KANA = /[\u3040-\u30ff\uff66-\uff9f]/;
const HAN = /\p{Script=Han}/u;

/** Replaces invisible characters and stacked accents. @param {string} text */
export function printable(text) {
  if (!SUSPECT.test(text)) return text;
  return text
    .replace(SELECTORS, "$1\ufffd")
    .replace(STACKED, "$1\ufffd")
    .replace(INVISIBLE, "\ufffd")
    .replace(STRAY_JOINER, "\ufffd");
}

/** For comparisons: without case and width. @param {string} text */
export const fold = (text) => text.normalize("NFKC").toLowerCase();

/** The language by script, for fonts and screen readers, or undefined. @param {string} text */
export function detectLanguage(text) {
  if (KANA.test(text)) return "ja";
  if (HAN.test(text)) return language() === "ja" ? "ja" : "zh"; // without kana it may be either
  return /[a-z]/i.test(text) ? "en" : undefined;
}

/**
 * Converts an offset in characters (code points, as the server counts) to UTF-16 units (as JavaScript counts).
 * @param {string} text
 * @param {number} characters
 */
export function toUtf16Offset(text, characters) {
  let offset = 0;
  for (let left = characters; left > 0 && offset < text.length; left -= 1) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  }
  return offset;
}

/** @param {string} text */
export function countCharacters(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
