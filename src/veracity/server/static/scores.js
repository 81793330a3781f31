// How an answer was scored: `<${Scores} evaluation=${…} score=${0.81} threshold=${0.75} />`. Scores of metrics go from 0 to
// 100, `score` and `threshold` from 0 to 1. Knows nothing about the answer.
import { html } from "./vendor/preact.js";
import { Icon } from "./icons.js";
import { percent, t } from "./i18n.js";
import { points } from "./points.js";
import { visible } from "./visible.js";

export function Scores({ evaluation, score, threshold }) {
  if (!evaluation) return html`<p class="muted">${t("answer.scores.none")}</p>`;
  const overall = typeof score === "number" ? score : evaluation.overall_score / 100;
  const bar = typeof threshold === "number" ? threshold : null;
  return html`<section class="scores" aria-label=${t("answer.scores")}>
    <${Overall} overall=${overall} threshold=${bar} />
    <ul>${evaluation.metrics.map((metric) => html`<${Metric} key=${metric.metric_name} metric=${metric} />`)}</ul>
    ${(evaluation.warnings ?? []).map((warning) => html`<p class="notice warn" dir="auto">${visible(warning)}</p>`)}
  </section>`;
}

function Overall({ overall, threshold }) {
  const passes = threshold === null || overall >= threshold;
  const tone = threshold === null ? "" : passes ? "scores-good" : "scores-low";
  return html`<div class=${`scores-overall ${tone}`}>
    <p class="row spread">
      <strong>${t("answer.scores.overall")}</strong>
      <span><strong class="number scores-value">${points(overall, threshold ?? 0)}</strong><span class="muted"> / 100</span></span>
    </p>
    <${Bar} value=${overall * 100} tick=${threshold === null ? null : threshold * 100} />
    ${threshold === null
      ? null
      : html`<p class="row small scores-verdict"><${Icon} name=${passes ? "check" : "warn"} size=${16} />${t(
          passes ? "answer.scores.reached" : "answer.scores.below", { threshold: points(threshold) })}</p>`}
  </div>`;
}

function Metric({ metric }) {
  const { metric_name: name, score, weight, model, spread, evaluator_comment: comment } = metric;
  const facts = [
    typeof weight === "number" && t("answer.scores.weight", { weight: percent(weight) }),
    model ? t("answer.scores.model", { model: visible(model) }) : t("answer.scores.local"),
    spread ? t("answer.scores.spread", { spread: Math.round(spread) }) : "",
  ].filter(Boolean);
  return html`<li class="scores-metric">
    <p class="row spread">
      <span class="scores-name">${visible(name)}</span><span class="number">${Math.round(score)}</span>
    </p>
    <${Bar} value=${score} />
    ${comment ? html`<p class="scores-comment" dir="auto">${visible(comment)}</p>` : null}
    <p class="small muted">${facts.join(" · ")}</p>
  </li>`;
}

// Says nothing that the text beside it does not say.
function Bar({ value, tick = null }) {
  const width = `${Math.max(0, Math.min(100, value))}%`;
  return html`<div class="scores-bar" aria-hidden="true">
    <span class="scores-fill" style=${{ width }}></span>
    ${tick === null ? null : html`<span class="scores-tick" style=${{ left: `${tick}%` }}></span>`}
  </div>`;
}
