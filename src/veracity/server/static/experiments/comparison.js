// Two experiments: which is better, the tests behind that verdict, and the cases that changed, with both runs side by side.
import { html, useState } from "../lib/preact.js";
import { ErrorNotice, Loading } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { number, percent, points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { Markdown } from "../lib/markdown.js";
import { comparisonLink, experimentLink, runLink } from "../lib/routes.js";
import { printable } from "../lib/text.js";
import { DifferenceBar } from "./plots.js";
/** @import { CasePair, Comparison as ComparisonData, PairedTest, Receipt } from "../lib/types.d.ts" */

const MAX_SHOWN = 100; // cases
/** @type {Record<string, string>} */
const TONES = { better: "good", equivalent: "good", worse: "bad", "cannot tell": "warn" };

/** B, the newer experiment, against A. @param {{ name: string, other: string }} props */
export function Comparison({ name, other }) {
  const path = `/api/experiments/${encodeURIComponent(name)}/against/${encodeURIComponent(other)}`;
  const { value: comparison, error, reload } = useLoaded(() => /** @type {Promise<ComparisonData>} */ (get(path)), [path]);
  if (error) return html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`;
  if (!comparison) return html`<${Loading} text=${t("shell.loading")} />`;
  const { passed, regressions, improvements } = comparison;
  return html`<article class="stack">
    <h2><a href=${experimentLink(name)}><bdi>${printable(name)}</bdi></a> ${t("experiments.against")}
      ${" "}<a href=${experimentLink(other)}><bdi>${printable(other)}</bdi></a></h2>
    <div class=${`notice ${TONES[passed.verdict]}`} role="status"><${Icon} name=${passed.verdict === "worse" ? "cross" : passed.verdict === "cannot tell" ? "info" : "check"} />
      <p class="experiments-verdict">${verdictSentence(passed, name, other)}</p></div>
    <p class="small muted">${describeScope(comparison)} <a href=${comparisonLink(other, name)}>${t("experiments.swap")}</a></p>
    <${Tests} tests=${[passed, ...comparison.slices, ...comparison.metrics]} />
    <${Changed} title=${t("experiments.regressions", { n: comparison.regression_count })} pairs=${regressions} names=${[other, name]} isOpen />
    <${Changed} title=${t("experiments.improvements", { n: comparison.improvement_count })} pairs=${improvements} names=${[other, name]} />
  </article>`;
}

/** @param {PairedTest} test @param {string} b @param {string} a */
function verdictSentence(test, b, a) {
  const { low, value, high, n } = test.difference;
  const names = { a: printable(a), b: printable(b), margin: (100 * test.margin).toFixed(1) };
  const measured = t("experiments.measured", {
    n, a: percent(test.a, 1), b: percent(test.b, 1), difference: signed(value), low: signed(low), high: signed(high), method: test.method, p: chance(test.p),
  });
  const sentences = [t(`experiments.verdict.${test.verdict}`, names), measured];
  if (test.verdict === "cannot tell") sentences.push(test.more_cases ? t("experiments.more_cases", { n: number(test.more_cases) }) : t("experiments.far_more_cases"));
  return sentences.join(" ");
}

/** A share in signed percentage points. @param {number} share */
const signed = (share) => `${share > 0 ? "+" : share < 0 ? "−" : ""}${Math.abs(100 * share).toFixed(1)}`;

/** With its sign of comparison. @param {number} p */
const chance = (p) => (p < 0.0005 ? "< 0.001" : `= ${p.toFixed(3)}`);

/** @param {ComparisonData} comparison */
function describeScope({ cases, left_out: leftOut, changed, differs }) {
  const parts = [t("experiments.common", { n: number(cases) })];
  if (leftOut) parts.push(t("experiments.left_out", { n: number(leftOut) }));
  if (changed) parts.push(t("experiments.changed", { n: number(changed) }));
  parts.push(differs.length ? t("experiments.differs", { what: differs.map((what) => t(`experiments.hash.${what}`)).join(t("experiments.comma")) })
    : t("experiments.same"));
  return parts.join(" ");
}

/** @param {{ tests: PairedTest[] }} props */
function Tests({ tests }) {
  return html`<div class="experiments-scroll" tabindex="0" role="region" aria-label=${t("experiments.measures")}><table class="experiments-table">
    <thead><tr><th>${t("experiments.measure")}</th><th class="number">A</th><th class="number">B</th><th>${t("experiments.difference")}</th>
      <th>${t("experiments.interval")}</th><th class="number">p</th><th>${t("experiments.verdict")}</th></tr></thead>
    <tbody>${tests.map((test, index) => html`<${Test} key=${index} test=${test} isMain=${index === 0} />`)}</tbody>
  </table></div>`;
}

/** @param {{ test: PairedTest, isMain: boolean }} props */
function Test({ test, isMain }) {
  const scale = test.margin < 1 ? 1 : 0.01; // metrics go from 0 to 100
  const { low, value, high } = test.difference;
  return html`<tr>
    <th scope="row">${isMain ? t("experiments.passed") : printable(test.measure)}</th>
    <td class="number">${(100 * scale * test.a).toFixed(1)}</td><td class="number">${(100 * scale * test.b).toFixed(1)}</td>
    <td><div class="experiments-interval"><span class="number">${signed(scale * value)}</span><${DifferenceBar} test=${test} /></div></td>
    <td class="number small">${signed(scale * low)} – ${signed(scale * high)}</td><td class="number small">${chance(test.adjusted_p).replace("= ", "")}</td>
    <td><span class=${`badge ${TONES[test.verdict]}`}>${t(`experiments.word.${test.verdict}`)}</span></td></tr>`;
}

/** @param {{ title: string, pairs: CasePair[], names: string[], isOpen?: boolean }} props */
function Changed({ title, pairs, names, isOpen = false }) {
  if (!pairs.length) return html`<section><h3>${title}</h3></section>`;
  return html`<details open=${isOpen}><summary><h3>${title}</h3></summary>
    <ul class="experiments-cases">${pairs.slice(0, MAX_SHOWN).map((pair) => html`<${Pair} key=${pair.case} pair=${pair} names=${names} />`)}</ul>
    ${pairs.length > MAX_SHOWN && html`<p class="small muted">${t("experiments.shown", { n: MAX_SHOWN, total: number(pairs.length) })}</p>`}
  </details>`;
}

/** @param {{ pair: CasePair, names: string[] }} props */
function Pair({ pair, names }) {
  const [isOpen, setOpen] = useState(false);
  const sides = [{ run: pair.a_run, faults: pair.a_faults, share: pair.a }, { run: pair.b_run, faults: pair.b_faults, share: pair.b }];
  return html`<li class="card stack">
    <div class="row spread"><strong><bdi>${printable(pair.case)}</bdi></strong>
      <button type="button" class="small" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${t(isOpen ? "experiments.hide" : "experiments.side_by_side")}</button></div>
    <div class="experiments-sides">${sides.map((side, index) => html`<div key=${index} class="stack">
      <p class="small"><span class="muted">${printable(names[index])}</span>${" "}
        <span class=${`badge ${side.share === 1 ? "good" : side.share ? "warn" : "bad"}`}>${t(side.share === 1 ? "experiments.pass" : side.share ? "experiments.sometimes" : "experiments.fail")}</span></p>
      ${side.faults.map((fault) => html`<p key=${fault} class="small">${printable(fault)}</p>`)}
      ${isOpen && side.run && html`<${RunText} runId=${side.run} />`}
    </div>`)}</div>
  </li>`;
}

/** @param {{ runId: string }} props */
function RunText({ runId }) {
  const { value: receipt, error } = useLoaded(() => /** @type {Promise<Receipt>} */ (get(`/api/runs/${encodeURIComponent(runId)}`)), [runId]);
  if (error) return html`<p class="small muted">${t("experiments.removed")}</p>`;
  if (!receipt) return html`<${Loading} text=${t("shell.loading")} />`;
  const { answer } = receipt;
  return html`<div class="experiments-run stack"><p class="small"><strong>${printable(receipt.run.question)}</strong></p>
    ${answer && html`<div class="prose small"><${Markdown} text=${answer.text} /></div>
      <p class="small muted">${t(`conversations.status.${answer.status}`)}${answer.score !== null && ` · ${t("experiments.score", { n: points(answer.score) })}`}</p>`}
    <p class="small"><a href=${runLink(runId)}>${t("experiments.run")}</a></p></div>`;
}
