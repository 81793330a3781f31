// The verdict on an answer in one line: review, support, score and decision, coloured by the worst of them.
import { html } from "../lib/preact.js";
import { points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { rate, scoreScale } from "../lib/strength.js";
import { printable } from "../lib/text.js";
/** @import { Answer } from "../lib/types.d.ts" */

/** @typedef {{ key: string, values: Record<string, unknown>, tone: string }} Part a string key, its values, and a tone */

/** @type {Record<string, string>} */
const ICONS = { good: "check", warn: "warn", bad: "cross", accent: "clock", "": "info" };
const TONES = ["bad", "warn", "accent", "good", ""]; // the worst first
/** @type {Record<string, string>} */
const REVIEW_TONES = { passed: "good", failed: "bad", doubtful: "warn", not_reviewed: "warn" };

/** @param {string} name @param {string} tone @param {Record<string, unknown>} values @returns {Part} */
const part = (name, tone, values = {}) => ({ key: `answer.verdict.${name}`, values, tone });

/**
 * What is known about an answer or a draft, in the order of its examination.
 * @param {Answer} answer
 * @param {number} threshold of the score
 */
export function verdictParts(answer, threshold) {
  if (answer.status === "answered" && answer.form === "direct") return [part("direct", "")];
  if (answer.status === "awaiting_approval") return [part("waiting", "accent")];
  const decision = (answer.decisions ?? []).at(-1);
  const name = printable(decision?.by ?? "");
  if (answer.status === "rejected") {
    return [part(decision?.verdict === "expire" ? "expired" : decision ? "rejected" : "rejected.nobody", "bad", { name })];
  }
  if (answer.status === "abstained") {
    return [part("abstained", "warn"), ...(decision ? [part({ approve: "approved", expire: "expired" }[/** @type {string} */ (decision.verdict)] ?? "rejected.draft", "", { name })] : [])];
  }
  return [...reviewParts(answer), ...supportParts(answer), ...scoreParts(answer, threshold),
    ...(decision?.verdict === "approve" ? [part(answer.form === "edited" ? "edited" : "approved", "good", { name })] : [])];
}

/** @param {Answer} answer */
function reviewParts({ review, notices = [] }) {
  const parts = notices.some(({ code }) => code === "uncertain") ? [part("uncertain", "warn")] : [];
  if (!review) return parts;
  const isLocal = review.outcome === "passed" && review.reviewer === "local";
  return [part(isLocal ? "review.local" : `review.${review.outcome}`, REVIEW_TONES[review.outcome]), ...parts];
}

/** @param {Answer} answer */
function supportParts({ sentences = [] }) {
  const stated = sentences.filter(({ states }) => states);
  const supported = stated.filter((sentence) => sentence.supported).length;
  if (!stated.length) return [];
  const tone = supported === stated.length ? "good" : supported ? "warn" : "bad";
  return [part("support", tone, { supported, n: stated.length })];
}

/** @param {Answer} answer @param {number} threshold */
function scoreParts({ score, form }, threshold) {
  if (score === null) return form === "edited" || form === "recalled" ? [] : [part("not_scored", "warn")];
  const { word, tone } = rate(score, scoreScale(threshold));
  return [part(`score.${word}`, tone, { score: points(score, threshold), threshold: points(threshold) })];
}

/** @param {Part[]} parts */
export const worstTone = (parts) => TONES.find((tone) => parts.some((one) => one.tone === tone)) ?? "";

/**
 * `isShort` leaves out what is as it should be.
 * @param {{ answer: Answer, threshold: number, isShort?: boolean }} props
 */
export function Verdict({ answer, threshold, isShort = false }) {
  const parts = verdictParts(answer, threshold);
  const faults = parts.filter(({ tone }) => tone === "bad" || tone === "warn");
  const shown = isShort && faults.length ? faults : parts;
  if (!shown.length) return null;
  return html`<span class="verdict" data-tone=${worstTone(parts)}>${shown.map(({ key, values, tone }) => html`
    <span key=${key} class="verdict-part" data-tone=${tone}><${Icon} name=${ICONS[tone]} size=${14} />${t(key, values)}</span>`)}</span>`;
}
