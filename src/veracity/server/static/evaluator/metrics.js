// The metrics in force with their weights, and the others that are available.
import { html } from "../lib/preact.js";
import { hasText, percent, points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
/** @import { GateDescription, MetricDescription } from "../lib/types.d.ts" */

const BUILT_IN = "built-in";

/** @param {{ gate: GateDescription }} props */
export function Metrics({ gate }) {
  const inForce = gate.metrics.filter(({ weight }) => weight !== null);
  const others = gate.metrics.filter(({ weight }) => weight === null);
  return html`<section aria-labelledby="evaluator-in-force">
    ${gate.warnings.length > 0 && html`<div class="notice warn evaluator-warnings" role="alert">
      <${Icon} name="warn" />
      <div><strong>${t("evaluator.warnings")}</strong>
        ${gate.warnings.map((warning) => html`<p key=${warning}><bdi>${printable(warning)}</bdi></p>`)}</div>
    </div>`}
    <h2 id="evaluator-in-force">${t("evaluator.in_force")}</h2>
    <p class="evaluator-policy">${t(`evaluator.policy_${gate.policy}`, { threshold: points(gate.threshold) })}</p>
    <p class="muted small">${t(`evaluator.set_${gate.metric_set}`)}</p>
    <ul class="evaluator-metrics">${inForce.map((metric) => html`<${Metric} key=${metric.name} metric=${metric} />`)}</ul>
    ${others.length > 0 && html`<details class="evaluator-others">
      <summary><h3>${t("evaluator.not_in_force")}</h3><span class="badge">${others.length}</span></summary>
      <ul class="evaluator-metrics">${others.map((metric) => html`<${Metric} key=${metric.name} metric=${metric} />`)}</ul>
    </details>`}
  </section>`;
}

/** @param {{ metric: MetricDescription }} props */
function Metric({ metric }) {
  const { weight, origin } = metric;
  return html`<li class="card evaluator-metric">
    <div class="evaluator-metric-head">
      <h3><bdi>${printable(metric.name)}</bdi></h3>
      ${weight !== null && html`<span class="number small">${t("evaluator.weight", { percent: percent(weight) })}</span>`}
    </div>
    ${weight !== null && html`<div class="evaluator-weight" aria-hidden="true">
      <span style=${{ width: `${weight * 100}%` }}></span></div>`}
    <p>${describeMetric(metric)}</p>
    <p class="row">
      <span class="badge ${metric.judge === "model" ? "accent" : ""}">${describeJudge(metric)}</span>
      ${origin !== BUILT_IN && html`<span class="badge" title=${printable(origin)}>
        ${t("evaluator.origin_own", { origin: printable(origin.split(/[/\\]/).slice(-2).join("/")) })}</span>`}
    </p>
  </li>`;
}

/** @param {MetricDescription} metric */
function describeJudge({ judge, model }) {
  if (judge === "local") return t("evaluator.judge_local");
  return model ? t("evaluator.judge_named", { model: printable(model) }) : t("evaluator.judge_model");
}

/** Built-in metrics are translated, others have the summary of their author. @param {MetricDescription} metric */
export function describeMetric({ name, origin, summary }) {
  const key = `evaluator.metric_${name}`;
  return origin === BUILT_IN && hasText(key) ? t(key) : printable(summary);
}
