// The language that a text is written in, as far as its letters tell: fonts and voices differ. undefined where they do not.
import { language } from "./i18n.js";

const KANA = /[\u3040-\u30ff\uff66-\uff9f]/;
const HAN = /\p{Script=Han}/u;

export function writtenIn(text) {
  if (KANA.test(text)) return "ja";
  if (HAN.test(text)) return language() === "ja" ? "ja" : "zh"; // a few characters without kana may be either
  return /[a-z]/i.test(text) ? "en" : undefined;
}
