// One scale for evidence, relevance, confidence and scores: a word first, then a number from 0 to 100. As in models/strength.py.
import { html } from "./preact.js";
import { points, t } from "./i18n.js";
/** @import { Scale, Scales } from "./types.d.ts" */

const NONE = { fair: 0, strong: 0 };
/** @type {Record<string, string>} */
const TONES = { weak: "bad", fair: "warn", strong: "good" };
/** By the settings in force, once they are known. @type {Scales} */
export const scales = { evidence: NONE, relevance: NONE, confidence: NONE, score: NONE };

/** @param {Scales} known */
export const setScales = (known) => { Object.assign(scales, known); };

/** Of languages with a threshold of their own. @type {Record<string, number>} */
let thresholds = {};

/** @param {Record<string, number>} known */
export const setThresholds = (known) => { thresholds = known; };

/** The least score that needs no approval. @param {string} language @param {number} common */
export const thresholdFor = (language, common) => thresholds[language] ?? common;

/** Strong is what needs no approval. @param {number} threshold @returns {Scale} */
export const scoreScale = (threshold) => ({ fair: (2 / 3) * threshold, strong: threshold });

/**
 * The word, the tone and the text of a share from 0 to 1, such as "weak", "bad" and "weak (31)".
 * @param {number} share @param {Scale} scale
 */
export function rate(share, { fair, strong }) {
  const word = share >= strong ? "strong" : share >= fair ? "fair" : "weak";
  const values = { word: t(`answer.strength.${word}`), points: points(share, share < fair ? fair : strong) };
  return { word, tone: TONES[word], text: t("answer.strength.shown", values) };
}

/** @param {{ share: number, scale: Scale }} props */
export function Strength({ share, scale }) {
  const { tone, text } = rate(share, scale);
  return html`<span class="strength" data-tone=${tone}>${text}</span>`;
}

/**
 * A bar in the colour of the word. Hidden from screen readers: the text next to it says the same.
 * @param {{ share: number, scale: Scale, tick?: number | null }} props
 */
export function Meter({ share, scale, tick = null }) {
  const width = `${100 * Math.max(0, Math.min(1, share))}%`;
  return html`<span class="meter" data-tone=${rate(share, scale).tone} aria-hidden="true"><span class="meter-fill" style=${{ width }}></span>
    ${tick !== null && html`<span class="meter-tick" style=${{ left: `${100 * tick}%` }}></span>`}</span>`;
}
