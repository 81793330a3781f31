// By what answers are scored: the metrics in force with their weights, and those that are there besides.
import { html } from "./vendor/preact.js";
import { known, percent, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { points } from "./points.js";
import { visible } from "./visible.js";

const BUILT_IN = "built-in";

export function Metrics({ told }) {
  const inForce = told.metrics.filter((metric) => metric.weight !== null);
  const others = told.metrics.filter((metric) => metric.weight === null);
  return html`<section aria-labelledby="evaluator-in-force">
    ${told.warnings.length > 0 && html`<div class="notice warn evaluator-warnings" role="alert">
      <${Icon} name="warn" />
      <div><strong>${t("evaluator.warnings")}</strong>
        ${told.warnings.map((warning) => html`<p key=${warning}><bdi>${visible(warning)}</bdi></p>`)}</div>
    </div>`}
    <h2 id="evaluator-in-force">${t("evaluator.in_force")}</h2>
    <p class="evaluator-policy">${t(`evaluator.policy_${told.policy}`, { threshold: points(told.threshold) })}</p>
    <p class="muted small">${t(`evaluator.set_${told.metric_set}`)}</p>
    <ul class="evaluator-metrics">${inForce.map((metric) => html`<${Metric} key=${metric.name} metric=${metric} />`)}</ul>
    ${others.length > 0 && html`<details class="evaluator-others">
      <summary><h3>${t("evaluator.not_in_force")}</h3><span class="badge">${others.length}</span></summary>
      <ul class="evaluator-metrics">${others.map((metric) => html`<${Metric} key=${metric.name} metric=${metric} />`)}</ul>
    </details>`}
  </section>`;
}

function Metric({ metric }) {
  const isWeighed = metric.weight !== null;
  return html`<li class="card evaluator-metric">
    <div class="evaluator-metric-head">
      <h3><bdi>${visible(metric.name)}</bdi></h3>
      ${isWeighed && html`<span class="number small">${t("evaluator.weight", { percent: percent(metric.weight) })}</span>`}
    </div>
    ${isWeighed && html`<div class="evaluator-weight" aria-hidden="true">
      <span style=${{ width: `${metric.weight * 100}%` }}></span></div>`}
    <p>${summary(metric)}</p>
    <p class="row">
      <span class="badge ${metric.judge === "model" ? "accent" : ""}">${judge(metric)}</span>
      ${metric.origin !== BUILT_IN && html`<span class="badge" title=${visible(metric.origin)}>
        ${t("evaluator.origin_own", { origin: visible(metric.origin.split(/[/\\]/).slice(-2).join("/")) })}</span>`}
    </p>
  </li>`;
}

function judge({ judge: kind, model }) {
  if (kind === "local") return t("evaluator.judge_local");
  return model ? t("evaluator.judge_named", { model: visible(model) }) : t("evaluator.judge_model");
}

// Built-in metrics are told in the language of the page, others in the words of whoever wrote them.
export function summary({ name, origin, summary: words }) {
  const key = `evaluator.metric_${name}`;
  return origin === BUILT_IN && known(key) ? t(key) : visible(words);
}
