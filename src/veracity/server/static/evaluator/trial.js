// The form that scores a question and an answer. Its content stays until it is cleared, also while other views are open.
import { html, useEffect, useState } from "../lib/preact.js";
import { Scores } from "../answer/scores.js";
import { isSubmitKey, Loading, withValue } from "../lib/components.js";
import { asApiError, post } from "../lib/http.js";
import { duration, points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
import { describeMetric } from "./metrics.js";
import { Passages } from "./passages.js";
/** @import { EvaluationResult, GateDescription, MetricDescription } from "../lib/types.d.ts" */

/**
 * @typedef {{ question: string, answer: string, passages: string[], chooses: boolean, names: string[] }} Form
 *   `chooses`: score by the metrics in `names` instead of those in force
 * @typedef {{ isBusy: boolean, problem: string, result: EvaluationResult | null, scored: Form | null }} TrialState
 */

/** @type {Form} */
const EMPTY = { question: "", answer: "", passages: [""], chooses: false, names: [] };
let lastForm = EMPTY;

/** @param {{ gate: GateDescription }} props */
export function Trial({ gate }) {
  const [form, setForm] = useState(lastForm);
  const [replaced, setReplaced] = useState(/** @type {Form | null} */ (null)); // for undo
  const [trial, setTrial] = useState(/** @type {TrialState} */ ({ isBusy: false, problem: "", result: null, scored: null }));
  lastForm = form;
  const change = (/** @type {Partial<Form>} */ changes) => {
    setForm((before) => ({ ...before, ...changes }));
    setReplaced(null);
  };
  const replace = (/** @type {Form} */ next) => {
    setForm(next);
    setReplaced(hasText(form) ? form : null);
  };
  const missing = describeMissing(form);

  async function score() {
    if (trial.isBusy) return;
    if (missing) {
      setTrial({ ...trial, problem: missing });
      return;
    }
    setTrial({ ...trial, isBusy: true, problem: "" });
    try {
      setTrial({ isBusy: false, problem: "", result: await post("/api/evaluate", toRequest(form)), scored: form });
    } catch (error) {
      setTrial({ isBusy: false, problem: asApiError(error).message, result: null, scored: null });
    }
  }
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    score();
  };

  useEffect(() => {
    if (trial.problem && !missing) setTrial((before) => (before.isBusy ? before : { ...before, problem: "" }));
  }, [form]);

  return html`<section aria-labelledby="evaluator-try" class="evaluator-trial">
    <div class="evaluator-try-head">
      <div><h2 id="evaluator-try">${t("evaluator.try_title")}</h2><p class="muted small">${t("evaluator.try_hint")}</p></div>
      <button class="small" onClick=${() => replace({ ...form, ...sample() })}>${t("evaluator.example")}</button>
      <button class="small quiet" disabled=${form === EMPTY && !replaced} onClick=${() => replace(replaced ?? EMPTY)}>
        ${t(replaced ? "evaluator.undo" : "evaluator.clear")}</button>
    </div>
    <form class="card evaluator-form" onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => isSubmitKey(event) && submit(event)}>
      <label>${t("evaluator.question")}
        <textarea name="question" rows="2" value=${form.question} onInput=${withValue((question) => change({ question }))}></textarea></label>
      <label>${t("evaluator.answer")}
        <textarea name="answer" rows="5" value=${form.answer} aria-describedby="evaluator-answer-hint"
          onInput=${withValue((answer) => change({ answer }))}></textarea>
        <span id="evaluator-answer-hint" class="muted small">${t("evaluator.answer_hint")}</span></label>
      <${Passages} passages=${form.passages} onChange=${(/** @type {string[]} */ passages) => change({ passages })} />
      <${MetricChoice} metrics=${gate.metrics} form=${form} onChange=${change} />
      ${trial.problem && html`<p class="notice bad" role="alert">${trial.problem}</p>`}
      <div class="row">
        <button class="primary" disabled=${trial.isBusy}><${Icon} name="evaluator" />${t("evaluator.score")}</button>
        <span class="muted small evaluator-keys">${t("evaluator.keys")}</span>
      </div>
    </form>
    <div aria-live="polite">
      ${trial.isBusy && html`<${Loading} text=${t("evaluator.scoring")} />`}
      ${trial.result && !trial.isBusy && html`<${Result} result=${trial.result} gate=${gate} isOutdated=${trial.scored !== form} />`}
    </div>
  </section>`;
}

/** @param {Form} form */
function hasText({ question, answer, passages }) {
  return [question, answer, ...passages].some((text) => text.trim());
}

/** @param {Form} form */
function describeMissing({ question, answer, chooses, names }) {
  if (!question.trim()) return t("evaluator.needs_question");
  if (!answer.trim()) return t("evaluator.needs_answer");
  return chooses && !names.length ? t("evaluator.choose_one") : "";
}

/** Marks in the answer count the rows, so empty rows keep their place, except at the end. @param {Form} form */
function toRequest({ question, answer, passages, chooses, names }) {
  const context = passages.slice(0, passages.findLastIndex((text) => text.trim()) + 1);
  return { question, answer, context, ...(chooses ? { metrics: names } : {}) };
}

function sample() {
  return {
    question: t("evaluator.sample_question"),
    answer: t("evaluator.sample_answer"),
    passages: [t("evaluator.sample_one"), t("evaluator.sample_two")],
  };
}

/**
 * The metrics in force, or a choice.
 * @param {{ metrics: MetricDescription[], form: Form, onChange: (changes: Partial<Form>) => void }} props
 */
function MetricChoice({ metrics, form, onChange }) {
  const toggle = (/** @type {string} */ name) =>
    onChange({ names: form.names.includes(name) ? form.names.filter((other) => other !== name) : [...form.names, name] });
  const inForce = metrics.filter(({ weight }) => weight !== null).map(({ name }) => name);
  const choose = () => onChange({ chooses: true, names: form.names.length ? form.names : inForce });
  return html`<fieldset class="evaluator-choice">
    <legend>${t("evaluator.by_what")}</legend>
    <label class="evaluator-option"><input type="radio" name="chooses" checked=${!form.chooses}
      onChange=${() => onChange({ chooses: false })} />${t("evaluator.those_in_force")}</label>
    <label class="evaluator-option"><input type="radio" name="chooses" checked=${form.chooses} onChange=${choose} />
      ${t("evaluator.choose")}</label>
    ${form.chooses && html`<ul>${metrics.map((metric) => html`<li key=${metric.name}>
      <label class="evaluator-option" title=${describeMetric(metric)}>
        <input type="checkbox" checked=${form.names.includes(metric.name)} onChange=${() => toggle(metric.name)} /><bdi>${printable(metric.name)}</bdi></label></li>`)}</ul>`}
  </fieldset>`;
}

/**
 * The scores, and what would happen to such an answer.
 * @param {{ result: EvaluationResult, gate: GateDescription, isOutdated: boolean }} props
 */
function Result({ result, gate, isOutdated }) {
  const score = result.overall_score / 100;
  return html`<section class="card evaluator-result" aria-labelledby="evaluator-result">
    <h3 id="evaluator-result">${t("evaluator.result")}</h3>
    ${isOutdated && html`<p class="notice warn">${t("evaluator.outdated")}</p>`}
    <p class="evaluator-verdict">${describeVerdict(score, gate)}</p>
    <${Scores} evaluation=${result} score=${score} threshold=${gate.threshold} />
    <p class="muted small">${t("evaluator.took", { time: duration(result.seconds) })}</p>
  </section>`;
}

/** @param {number} score @param {GateDescription} gate */
function describeVerdict(score, { threshold, policy }) {
  const values = { score: points(score, threshold), threshold: points(threshold) };
  if (policy === "always") return t("evaluator.always_ask");
  if (score >= threshold) return t("evaluator.would_pass", values);
  return t(policy === "never" ? "evaluator.would_notice" : "evaluator.would_ask", values);
}
