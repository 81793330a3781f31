// The scores of an answer. Metrics go from 0 to 100, `score`, `threshold` and `floor` from 0 to 1.
import { html } from "../lib/preact.js";
import { percent, points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
/** @import { EvaluationResult, MetricScore } from "../lib/types.d.ts" */

/**
 * `grounding` are local checks that are not part of the score.
 * @param {{ evaluation?: EvaluationResult | null, score?: number | null, threshold?: number | null,
 *   grounding?: MetricScore[], floor?: number | null }} props
 */
export function Scores({ evaluation, score, threshold, grounding = [], floor = null }) {
  const metrics = evaluation?.metrics ?? [];
  const checks = grounding.filter(({ metric_name: name }) => !metrics.some((metric) => metric.metric_name === name));
  return html`<section class="scores" aria-label=${t("answer.scores")}>
    ${evaluation
      ? html`<${Overall} score=${score ?? evaluation.overall_score / 100} threshold=${threshold ?? null} />`
      : html`<p class="muted">${t("answer.scores.none")}</p>`}
    <ul>${metrics.map((metric) => html`<${Metric} key=${metric.metric_name} metric=${metric} />`)}</ul>
    ${checks.length > 0 && html`<p class="small muted">${t("answer.scores.grounding", { floor: points(floor ?? 0) })}</p>
      <ul>${checks.map((check) => html`<${Metric} key=${check.metric_name} metric=${check} floor=${floor} />`)}</ul>`}
    ${(evaluation?.warnings ?? []).map((warning) => html`<p class="notice warn" dir="auto">${printable(warning)}</p>`)}
  </section>`;
}

/**
 * The lowest grounding check, in points; "–" without any.
 * @param {MetricScore[]} grounding @param {number} floor
 */
export function lowestGrounding(grounding, floor) {
  return grounding.length ? points(Math.min(...grounding.map(({ score }) => score)) / 100, floor) : "–";
}

/** @param {{ score: number, threshold: number | null }} props */
function Overall({ score, threshold }) {
  const passes = threshold === null || score >= threshold;
  const tone = threshold === null ? "" : passes ? "scores-good" : "scores-low";
  return html`<div class=${`scores-overall ${tone}`}>
    <p class="row spread">
      <strong>${t("answer.scores.overall")}</strong>
      <span><strong class="number scores-value">${points(score, threshold ?? 0)}</strong><span class="muted"> / 100</span></span>
    </p>
    <${Bar} value=${score * 100} tick=${threshold === null ? null : threshold * 100} />
    ${threshold === null
      ? null
      : html`<p class="row small scores-verdict"><${Icon} name=${passes ? "check" : "warn"} size=${16} />${t(
          passes ? "answer.scores.reached" : "answer.scores.below", { threshold: points(threshold) })}</p>`}
  </div>`;
}

/** @param {{ metric: MetricScore, floor?: number | null }} props */
function Metric({ metric, floor = null }) {
  const { metric_name: name, score, weight, model, spread, evaluator_comment: comment } = metric;
  const facts = [
    typeof weight === "number" && t("answer.scores.weight", { weight: percent(weight) }),
    model ? t("answer.scores.model", { model: printable(model) }) : t("answer.scores.local"),
    spread ? t("answer.scores.spread", { spread: Math.round(spread) }) : "",
  ].filter(Boolean);
  return html`<li class="scores-metric">
    <p class="row spread">
      <span class="scores-name">${printable(name)}</span><span class="number">${points(score / 100, floor ?? 0)}</span>
    </p>
    <${Bar} value=${score} tick=${floor === null ? null : floor * 100} />
    ${comment ? html`<p class="scores-comment" dir="auto">${printable(comment)}</p>` : null}
    <p class="small muted">${facts.join(" · ")}</p>
  </li>`;
}

/**
 * Hidden from screen readers: the text next to it has the same numbers.
 * @param {{ value: number, tick?: number | null }} props
 */
function Bar({ value, tick = null }) {
  const width = `${Math.max(0, Math.min(100, value))}%`;
  return html`<div class="scores-bar" aria-hidden="true">
    <span class="scores-fill" style=${{ width }}></span>
    ${tick === null ? null : html`<span class="scores-tick" style=${{ left: `${tick}%` }}></span>`}
  </div>`;
}
