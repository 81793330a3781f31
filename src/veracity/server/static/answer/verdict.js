// The verdict on an answer in one line: review, support, score and decision, coloured by the worst of them.
import { html } from "../lib/preact.js";
import { points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { rate, scoreScale, thresholdFor } from "../lib/strength.js";
import { printable } from "../lib/text.js";
/** @import { Examination, RunSummary } from "../lib/types.d.ts" */

/** @typedef {{ key: string, values: Record<string, unknown>, tone: string }} Part a string key, its values, and a tone */

/** @type {Record<string, string>} */
const ICONS = { good: "check", warn: "warn", bad: "cross", accent: "clock", "": "info" };
const TONES = ["bad", "warn", "accent", "good", ""]; // the worst first
/** @type {Partial<Record<RunSummary["status"], string>>} */
const STATUS_TONES = { failed: "bad", interrupted: "warn" };
/** @type {Record<string, string>} */
const REVIEW_TONES = { passed: "good", failed: "bad", doubtful: "warn", not_reviewed: "warn" };

/** @param {string} name @param {string} tone @param {Record<string, unknown>} values @returns {Part} */
const part = (name, tone, values = {}) => ({ key: `answer.verdict.${name}`, values, tone });

/**
 * What is known about an answer or a draft, in the order of its examination.
 * @param {Examination} answer
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
  return [...reviewParts(answer), ...supportParts(answer), ...scoreParts(answer, thresholdFor(answer.language, threshold)),
    ...(decision?.verdict === "approve" ? [part(answer.form === "edited" ? "edited" : "approved", "good", { name })] : [])];
}

/** @param {Examination} answer */
function reviewParts({ review, notices = [] }) {
  const parts = notices.some(({ code }) => code === "uncertain") ? [part("uncertain", "warn")] : [];
  if (!review) return parts;
  const isLocal = review.outcome === "passed" && review.reviewer === "local";
  return [part(isLocal ? "review.local" : `review.${review.outcome}`, REVIEW_TONES[review.outcome]), ...parts];
}

/** @param {Examination} answer */
function supportParts({ sentences = [] }) {
  const stated = sentences.filter(({ states }) => states);
  const supported = stated.filter((sentence) => sentence.supported).length;
  if (!stated.length) return [];
  const tone = supported === stated.length ? "good" : supported ? "warn" : "bad";
  return [part("support", tone, { supported, n: stated.length })];
}

/** @param {Examination} answer @param {number} threshold */
function scoreParts({ score = null, form }, threshold) {
  if (score === null) return form === "edited" || form === "recalled" ? [] : [part("not_scored", "warn")];
  const { word, tone } = rate(score, scoreScale(threshold));
  return [part(`score.${word}`, tone, { score: points(score, threshold), threshold: points(threshold) })];
}

/** @param {Part[]} parts */
export const worstTone = (parts) => TONES.find((tone) => parts.some((one) => one.tone === tone)) ?? "";

/**
 * `isShort` leaves out what is as it should be.
 * @param {{ answer: Examination, threshold: number, isShort?: boolean }} props
 */
export function Verdict({ answer, threshold, isShort = false }) {
  return html`<${Parts} parts=${verdictParts(answer, threshold)} isShort=${isShort} />`;
}

/**
 * The verdict on a run in a list. A run without an answer has its status instead. `isQuiet` shows only what needs attention.
 * @param {{ status: RunSummary["status"], examined?: Examination | null, threshold: number, isQuiet?: boolean }} props
 */
export function RunVerdict({ status, examined, threshold, isQuiet = false }) {
  const parts = status === "awaiting_approval" ? [part("waiting", "accent")]
    : examined ? verdictParts(examined, threshold)
    : [{ key: `conversations.status.${status}`, values: {}, tone: STATUS_TONES[status] ?? "" }];
  const needsAttention = (!examined && status !== "answered") || ["bad", "warn", "accent"].includes(worstTone(parts));
  return isQuiet && !needsAttention ? null : html`<${Parts} parts=${parts} isShort />`;
}

/** @param {{ parts: Part[], isShort: boolean }} props */
function Parts({ parts, isShort }) {
  const faults = parts.filter(({ tone }) => tone === "bad" || tone === "warn");
  const shown = isShort && faults.length ? faults : parts;
  if (!shown.length) return null;
  return html`<span class="verdict" data-tone=${worstTone(parts)}>${shown.map(({ key, values, tone }) => html`
    <span key=${key} class="verdict-part" data-tone=${tone}><${Icon} name=${ICONS[tone]} size=${14} />${t(key, values)}</span>`)}</span>`;
}
