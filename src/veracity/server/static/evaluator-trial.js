// Scores a question and an answer that somebody typed. What was typed stays until it is cleared, also while other pages
// are looked at.
import { html, useEffect, useState } from "./vendor/preact.js";
import { post } from "./api.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { MetricChoice } from "./evaluator-choice.js";
import { Passages } from "./evaluator-passages.js";
import { TrialResult } from "./evaluator-result.js";

const EMPTY = { question: "", answer: "", passages: [""], chooses: false, names: [] };
let kept = EMPTY;

export function Trial({ told }) {
  const [form, setForm] = useState(kept);
  const [replaced, setReplaced] = useState(null); // what was typed before one press took its place
  const [trial, setTrial] = useState({ busy: false, problem: "", result: null, of: null });
  kept = form;
  const change = (changes) => {
    setForm((before) => ({ ...before, ...changes }));
    setReplaced(null);
  };
  const replace = (next) => {
    setForm(next);
    setReplaced(isTyped(form) ? form : null);
  };
  const lacking = lack(form);

  async function score() {
    if (trial.busy) return;
    if (lacking) {
      setTrial({ ...trial, problem: lacking });
      return;
    }
    setTrial({ ...trial, busy: true, problem: "" });
    try {
      setTrial({ busy: false, problem: "", result: await post("/api/evaluate", asRequest(form)), of: form });
    } catch (problem) {
      setTrial({ busy: false, problem: problem.message, result: null, of: null });
    }
  }

  useEffect(() => {
    if (trial.problem && !lacking) setTrial((before) => (before.busy ? before : { ...before, problem: "" }));
  }, [form]);

  return html`<section aria-labelledby="evaluator-try" class="evaluator-trial">
    <div class="evaluator-try-head">
      <div><h2 id="evaluator-try">${t("evaluator.try_title")}</h2><p class="muted small">${t("evaluator.try_hint")}</p></div>
      <button class="small" onClick=${() => replace({ ...form, ...sample() })}>${t("evaluator.example")}</button>
      <button class="small quiet" disabled=${form === EMPTY && !replaced} onClick=${() => replace(replaced ?? EMPTY)}>
        ${t(replaced ? "evaluator.undo" : "evaluator.clear")}</button>
    </div>
    <form class="card evaluator-form" onSubmit=${(event) => { event.preventDefault(); score(); }}
      onKeyDown=${(event) => sends(event) && score()}>
      <label>${t("evaluator.question")}
        <textarea name="question" rows="2" value=${form.question}
          onInput=${(event) => change({ question: event.target.value })}></textarea></label>
      <label>${t("evaluator.answer")}
        <textarea name="answer" rows="5" value=${form.answer} aria-describedby="evaluator-answer-hint"
          onInput=${(event) => change({ answer: event.target.value })}></textarea>
        <span id="evaluator-answer-hint" class="muted small">${t("evaluator.answer_hint")}</span></label>
      <${Passages} passages=${form.passages} onChange=${(passages) => change({ passages })} />
      <${MetricChoice} metrics=${told.metrics} form=${form} onChange=${change} />
      ${trial.problem && html`<p class="notice bad" role="alert">${trial.problem}</p>`}
      <div class="row">
        <button class="primary" disabled=${trial.busy}><${Icon} name="evaluator" />${t("evaluator.score")}</button>
        <span class="muted small evaluator-keys">${t("evaluator.keys")}</span>
      </div>
    </form>
    <div aria-live="polite">
      ${trial.busy && html`<p class="row muted"><span class="spinner"></span>${t("evaluator.scoring")}</p>`}
      ${trial.result && !trial.busy && html`<${TrialResult} result=${trial.result} told=${told} isOld=${trial.of !== form} />`}
    </div>
  </section>`;
}

function isTyped({ question, answer, passages }) {
  return [question, answer, ...passages].some((text) => text.trim());
}

// Enter alone makes a new line; an input method that is composing keeps its Enter.
function sends(event) {
  if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return false;
  if (!event.ctrlKey && !event.metaKey) return false;
  event.preventDefault();
  return true;
}

function lack({ question, answer, chooses, names }) {
  if (!question.trim()) return t("evaluator.needs_question");
  if (!answer.trim()) return t("evaluator.needs_answer");
  return chooses && !names.length ? t("evaluator.choose_one") : "";
}

// The numbers in the answer count the rows: an empty one between others keeps its place, those at the end are left off.
function asRequest({ question, answer, passages, chooses, names }) {
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
