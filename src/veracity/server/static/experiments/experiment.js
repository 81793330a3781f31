// One experiment: its rates and scores with intervals, what the gate would do, and the cases that did not pass.
import { html } from "../lib/preact.js";
import { ErrorNotice, Loading } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { dateTime, number, percent, t } from "../lib/i18n.js";
import { comparisonLink, runLink } from "../lib/routes.js";
import { printable } from "../lib/text.js";
import { IntervalBar, RiskCurve } from "./plots.js";
/** @import { Abstention, Interval, MissedCase, Summary } from "../lib/types.d.ts" */

const MAX_SHOWN = 100; // cases
const LATEST = "last"; // the name of no particular experiment

/** @param {{ name: string }} props */
export function Experiment({ name }) {
  const load = () => /** @type {Promise<Summary>} */ (get(`/api/experiments/${encodeURIComponent(name)}`));
  const { value: summary, error, reload } = useLoaded(load, [name]);
  if (error) return html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`;
  if (!summary) return html`<${Loading} text=${t("shell.loading")} />`;
  const { baseline } = summary.manifest.settings.gate;
  return html`<article class="stack">
    <h2><bdi>${printable(name)}</bdi></h2>
    <p class="experiments-verdict">${describe(summary)}</p>
    ${baseline && baseline !== LATEST && html`<p><a href=${comparisonLink(name, baseline)}>${t("experiments.compare_baseline", { name: printable(baseline) })}</a></p>`}
    <${Conditions} summary=${summary} />
    <${Measures} summary=${summary} />
    ${hasRuns(summary.abstention) && html`<${AbstentionTable} counts=${summary.abstention} />`}
    ${summary.coverage.length > 1 && html`<section class="card"><h3>${t("experiments.curve")}</h3><${RiskCurve} points=${summary.coverage} /></section>`}
    <${Missed} summary=${summary} />
  </article>`;
}

/** One sentence. @param {Summary} summary */
function describe({ passed, released, wrong_released: wrong, not_run: notRun, manifest }) {
  if (!passed) return t("experiments.nothing");
  const sentences = [t("experiments.sentence", { share: percent(passed.value, 1), n: passed.n, low: percent(passed.low, 1), high: percent(passed.high, 1) })];
  if (released && wrong) sentences.push(t("experiments.sentence.gate", { share: percent(released.value, 1), wrong: percent(wrong.value, 1) }));
  if (notRun) sentences.push(t("experiments.sentence.left", { n: number(notRun), total: number(manifest.cases * manifest.repeats) }));
  return sentences.join(" ");
}

/** @param {{ summary: Summary }} props */
function Conditions({ summary }) {
  const { manifest, usage } = summary;
  const models = Object.entries(manifest.models).filter(([, model]) => model && model !== "none").map(([role, model]) => `${role}: ${model}`);
  return html`<dl class="experiments-conditions small">
    <dt>${t("experiments.suite")}</dt><dd>${printable(manifest.suite)}${manifest.repeats > 1 && ` × ${manifest.repeats}`}</dd>
    <dt>${t("experiments.started")}</dt><dd>${dateTime(manifest.created)}</dd>
    ${manifest.overrides.length > 0 && html`<dt>${t("experiments.overrides")}</dt><dd><code>${printable(manifest.overrides.join("  "))}</code></dd>`}
    <dt>${t("experiments.models")}</dt><dd>${printable(models.join(", ")) || t("experiments.no_models")}</dd>
    ${usage.calls > 0 && html`<dt>${t("experiments.calls")}</dt><dd class="number">${number(usage.calls)}${usage.cost_usd !== null && ` · $${usage.cost_usd.toFixed(2)}`}</dd>`}
  </dl>`;
}

/** @param {{ summary: Summary }} props */
function Measures({ summary }) {
  /** @type {[string, Interval | null, number][]} */
  const rates = [
    [t("experiments.passed"), summary.passed, 1],
    [t("experiments.passed_always", { n: summary.manifest.repeats }), summary.passed_always, 1],
    [t("experiments.released"), summary.released, 1],
    [t("experiments.wrong_released"), summary.wrong_released, 1],
    ...summary.slices.map(({ name, passed }) => /** @type {[string, Interval, number]} */ ([t("experiments.passed_slice", { name: printable(name) }), passed, 1])),
    ...Object.entries(summary.metrics).map(([name, interval]) => /** @type {[string, Interval, number]} */ ([printable(name), interval, 100])),
  ];
  return html`<div class="experiments-scroll" tabindex="0" role="region" aria-label=${t("experiments.measures")}><table class="experiments-table">
    <thead><tr><th>${t("experiments.measure")}</th><th>${t("experiments.value")}</th><th>${t("experiments.interval")}</th>
      <th class="number">n</th><th>${t("experiments.method")}</th></tr></thead>
    <tbody>${rates.map(([name, interval, highest]) => interval && html`<tr key=${name}>
      <th scope="row">${name}</th>
      <td><${IntervalBar} interval=${interval} highest=${highest} text=${scaled(interval.value, highest)} /></td>
      <td class="number small">${scaled(interval.low, highest)} – ${scaled(interval.high, highest)}</td>
      <td class="number small">${interval.n}</td><td class="small muted">${interval.method}</td></tr>`)}</tbody>
  </table></div>`;
}

/** A share in percent, or a score from 0 to 100. @param {number} value @param {number} highest */
const scaled = (value, highest) => (highest === 1 ? percent(value, 1) : value.toFixed(1));

/** @param {Abstention} counts */
const hasRuns = (counts) => Object.values(counts).some((count) => count > 0);

/** @param {{ counts: Abstention }} props */
function AbstentionTable({ counts }) {
  return html`<section class="card"><h3>${t("experiments.abstention")}</h3>
    <table class="experiments-table experiments-counts">
      <thead><tr><td></td><th scope="col">${t("experiments.answered")}</th><th scope="col">${t("experiments.abstained")}</th></tr></thead>
      <tbody>
        <tr><th scope="row">${t("experiments.answerable")}</th><td class="number good">${counts.answered_as_expected}</td><td class="number">${counts.abstained_instead}</td></tr>
        <tr><th scope="row">${t("experiments.unanswerable")}</th><td class="number bad">${counts.answered_instead}</td><td class="number good">${counts.abstained_as_expected}</td></tr>
      </tbody></table></section>`;
}

/** @param {{ summary: Summary }} props */
function Missed({ summary }) {
  const { missed, failed, flaky } = summary;
  return html`
    ${failed.length > 0 && html`<section><h3>${t("experiments.failed_cases", { n: failed.length })}</h3>
      <ul class="experiments-cases">${failed.slice(0, MAX_SHOWN).map(({ case: id, problem }) => html`<li key=${id} class="card"><strong><bdi>${printable(id)}</bdi></strong>
        <p class="small">${printable(problem)}</p></li>`)}</ul></section>`}
    <section><h3>${t("experiments.missed", { n: summary.missed_count })}</h3>
      <ul class="experiments-cases">${missed.slice(0, MAX_SHOWN).map((missedCase) => html`<${MissedItem} key=${missedCase.case} missed=${missedCase} isFlaky=${flaky.includes(missedCase.case)} />`)}</ul>
      ${summary.missed_count > MAX_SHOWN && html`<p class="small muted">${t("experiments.shown", { n: MAX_SHOWN, total: number(summary.missed_count) })}</p>`}
    </section>`;
}

/** @param {{ missed: MissedCase, isFlaky: boolean }} props */
function MissedItem({ missed, isFlaky }) {
  return html`<li class="card">
    <div class="row spread"><strong><bdi>${printable(missed.case)}</bdi></strong>
      <span class="row">${isFlaky && html`<span class="badge warn">${t("experiments.flaky", { n: missed.passes, total: missed.repeats })}</span>`}
        ${missed.run_ids.length > 0 && html`<a class="small" href=${runLink(missed.run_ids[missed.run_ids.length - 1])}>${t("experiments.run")}</a>`}</span></div>
    ${missed.faults.map((fault) => html`<p key=${fault} class="small">${printable(fault)}</p>`)}
  </li>`;
}
