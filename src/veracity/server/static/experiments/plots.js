// Intervals on an axis, and the curve of risk over coverage.
import { html } from "../lib/preact.js";
import { percent, t } from "../lib/i18n.js";
/** @import { CoveragePoint, Interval, PairedTest } from "../lib/types.d.ts" */

const MARGINS = 4; // shown at least to each side of no difference
const MAX_RISK = 0.5; // shown

/** @param {number} share */
const place = (share) => `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(2)}%`;

/**
 * An interval between 0 and `highest`.
 * @param {{ interval: Interval, text: string, highest?: number }} props
 */
export function IntervalBar({ interval, text, highest = 1 }) {
  const [low, value, high] = [interval.low, interval.value, interval.high].map((number) => number / highest);
  return html`<div class="experiments-interval"><span class="number">${text}</span>
    <span class="experiments-axis" aria-hidden="true"><span class="experiments-range" style=${{ left: place(low), right: place(1 - high) }}></span>
      <span class="experiments-mark" style=${{ left: place(value) }}></span></span></div>`;
}

/**
 * The difference of B and A, with the margin within which they count as equivalent.
 * @param {{ test: PairedTest }} props
 */
export function DifferenceBar({ test }) {
  const { low, value, high } = test.difference;
  const widest = 1.05 * Math.max(MARGINS * test.margin, -low, high);
  const at = (/** @type {number} */ difference) => 0.5 + difference / (2 * widest);
  return html`<span class="experiments-axis" aria-hidden="true">
    <span class="experiments-margin" style=${{ left: place(at(-test.margin)), right: place(1 - at(test.margin)) }}></span>
    <span class="experiments-range" style=${{ left: place(at(low)), right: place(1 - at(high)) }}></span>
    <span class="experiments-mark" style=${{ left: place(at(value)) }}></span></span>`;
}

/** @param {{ points: CoveragePoint[] }} props */
export function RiskCurve({ points }) {
  const line = points.map(({ coverage, risk }) => `${300 * coverage},${150 - (150 * Math.min(risk, MAX_RISK)) / MAX_RISK}`).join(" ");
  const last = points[points.length - 1];
  return html`<figure class="experiments-curve">
    <svg viewBox="-4 -4 308 158" role="img" aria-label=${t("experiments.curve.text", { coverage: percent(last.coverage), risk: percent(last.risk) })}>
      <path d="M0 0V150H300" class="experiments-axes" /><polyline points=${line} class="experiments-line" /></svg>
    <figcaption class="small muted">${t("experiments.curve.caption")}</figcaption>
  </figure>`;
}
