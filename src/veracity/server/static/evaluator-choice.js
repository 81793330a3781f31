// Which metrics a trial is scored by: those in force, or some of one's own choice.
import { html } from "./vendor/preact.js";
import { t } from "./i18n.js";
import { summary } from "./evaluator-metrics.js";
import { visible } from "./visible.js";

export function MetricChoice({ metrics, form, onChange }) {
  const toggle = (name) =>
    onChange({ names: form.names.includes(name) ? form.names.filter((one) => one !== name) : [...form.names, name] });
  const choose = () => onChange({ chooses: true, names: form.names.length ? form.names : inForce(metrics) });
  return html`<fieldset class="evaluator-choice">
    <legend>${t("evaluator.by_what")}</legend>
    <label class="evaluator-option"><input type="radio" name="chooses" checked=${!form.chooses}
      onChange=${() => onChange({ chooses: false })} />${t("evaluator.those_in_force")}</label>
    <label class="evaluator-option"><input type="radio" name="chooses" checked=${form.chooses} onChange=${choose} />
      ${t("evaluator.choose")}</label>
    ${form.chooses && html`<ul>${metrics.map((metric) => html`<li key=${metric.name}>
      <label class="evaluator-option" title=${summary(metric)}>
        <input type="checkbox" checked=${form.names.includes(metric.name)} onChange=${() => toggle(metric.name)} /><bdi>${visible(metric.name)}</bdi></label></li>`)}</ul>`}
  </fieldset>`;
}

function inForce(metrics) {
  return metrics.filter((metric) => metric.weight !== null).map((metric) => metric.name);
}
