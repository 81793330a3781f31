// The scores of an answer. Metrics go from 0 to 100, `score`, `threshold` and `floor` from 0 to 1.
import { html } from "../lib/preact.js";
import { percent, points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { Meter, rate, scales, scoreScale, Strength } from "../lib/strength.js";
import { printable } from "../lib/text.js";
/** @import { EvaluationResult, MetricScore, Scale } from "../lib/types.d.ts" */

/**
 * `grounding` are local checks that are not part of the score.
 * @param {{ evaluation?: EvaluationResult | null, score?: number | null, threshold?: number | null,
 *   grounding?: MetricScore[], floor?: number | null }} props
 */
export function Scores({ evaluation, score, threshold, grounding = [], floor = null }) {
  const metrics = evaluation?.metrics ?? [];
  const scale = threshold == null ? scales.score : scoreScale(threshold);
  const checks = grounding.filter(({ metric_name: name }) => !metrics.some((metric) => metric.metric_name === name));
  return html`<section class="scores" aria-label=${t("answer.scores")}>
    ${evaluation
      ? html`<${Overall} score=${score ?? evaluation.overall_score / 100} threshold=${threshold ?? null} />`
      : html`<p class="muted">${t("answer.scores.none")}</p>`}
    <ul>${metrics.map((metric) => html`<${Metric} key=${metric.metric_name} metric=${metric} scale=${scale} />`)}</ul>
    ${checks.length > 0 && html`<p class="small muted">${t("answer.scores.grounding", { floor: points(floor ?? 0) })}</p>
      <ul>${checks.map((check) => html`<${Metric} key=${check.metric_name} metric=${check} floor=${floor}
        scale=${{ fair: floor ?? 0, strong: Math.max(floor ?? 0, scale.strong) }} />`)}</ul>`}
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
  const scale = threshold == null ? scales.score : scoreScale(threshold);
  const { word, tone } = rate(score, scale);
  const passes = threshold === null || score >= threshold;
  return html`<div class="scores-overall" data-tone=${tone}>
    <p class="row spread">
      <strong>${t("answer.scores.overall")}</strong>
      <span>${t(`answer.strength.${word}`)} <strong class="number scores-value">${points(score, threshold ?? 0)}</strong><span class="muted"> / 100</span></span>
    </p>
    <${Meter} share=${score} scale=${scale} tick=${threshold} />
    ${threshold === null
      ? null
      : html`<p class="row small scores-verdict"><${Icon} name=${passes ? "check" : "warn"} size=${16} />${t(
          passes ? "answer.scores.reached" : "answer.scores.below", { threshold: points(threshold) })}</p>`}
  </div>`;
}

/** @param {{ metric: MetricScore, scale: Scale, floor?: number | null }} props */
function Metric({ metric, scale, floor = null }) {
  const { metric_name: name, score, weight, model, spread, evaluator_comment: comment } = metric;
  const facts = [
    typeof weight === "number" && t("answer.scores.weight", { weight: percent(weight) }),
    model ? t("answer.scores.model", { model: printable(model) }) : t("answer.scores.local"),
    spread ? t("answer.scores.spread", { spread: Math.round(spread) }) : "",
  ].filter(Boolean);
  return html`<li class="scores-metric">
    <p class="row spread">
      <span class="scores-name">${printable(name)}</span><${Strength} share=${score / 100} scale=${scale} />
    </p>
    <${Meter} share=${score / 100} scale=${scale} tick=${floor} />
    ${comment ? html`<p class="scores-comment" dir="auto">${printable(comment)}</p>` : null}
    <p class="small muted">${facts.join(" · ")}</p>
  </li>`;
}
