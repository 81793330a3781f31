// Experiments for approvers: the list, one experiment, or the comparison of two.
import { html, useState } from "../lib/preact.js";
import { ErrorNotice, Loading } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { ago, dateTime, percent, t, useLanguage } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { comparisonLink, experimentLink, go } from "../lib/routes.js";
import { printable } from "../lib/text.js";
import { EvaluatorTabs } from "../evaluator/tabs.js";
import { Comparison } from "./comparison.js";
import { Experiment } from "./experiment.js";
import { IntervalBar } from "./plots.js";
/** @import { ExperimentRow, Me, Route } from "../lib/types.d.ts" */

const COMMAND = "veracity experiment run SUITE";

/** @param {{ me: Me, route: Route }} props */
export function Experiments({ me, route }) {
  useLanguage();
  if (me.role === "asker") return html`<div class="view"><p class="empty">${t("experiments.not_allowed")}</p></div>`;
  return html`<div class="view experiments">
    <header class="view-head"><h1>${route.id ? html`<a href="#/experiments">${t("experiments.title")}</a>` : t("experiments.title")}</h1>
      <${EvaluatorTabs} me=${me} current="experiments" /></header>
    ${route.other ? html`<${Comparison} key=${route.path} name=${route.id} other=${route.other} />`
      : route.id ? html`<${Experiment} key=${route.path} name=${route.id} />`
      : html`<${List} />`}
  </div>`;
}

function List() {
  const { value: rows, error, reload } = useLoaded(() => /** @type {Promise<ExperimentRow[]>} */ (get("/api/experiments")), []);
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const choose = (/** @type {string} */ name) => setChosen((names) =>
    names.includes(name) ? names.filter((other) => other !== name) : [...names, name].slice(-2));
  if (error) return html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`;
  if (!rows) return html`<${Loading} text=${t("shell.loading")} />`;
  if (!rows.length) {
    return html`<div class="empty"><${Icon} name="evaluator" size=${28} /><h2>${t("experiments.none")}</h2>
      <p>${t("experiments.none.text")}</p><p><code>${COMMAND}</code></p></div>`;
  }
  const newestLast = rows.map(({ name }) => name).filter((name) => chosen.includes(name)).reverse();
  return html`
    <p class="muted">${t("experiments.intro")}</p>
    <div class="experiments-scroll" tabindex="0" role="region" aria-label=${t("experiments.title")}><table class="experiments-table">
      <thead><tr><th><span class="visually-hidden">${t("experiments.choose")}</span></th><th>${t("experiments.name")}</th>
        <th>${t("experiments.started")}</th><th class="number">${t("experiments.finished")}</th><th>${t("experiments.passed")}</th></tr></thead>
      <tbody>${rows.map((row) => html`<${Row} key=${row.name} row=${row} isChosen=${chosen.includes(row.name)} onChoose=${choose} />`)}</tbody>
    </table></div>
    <p class="row"><button type="button" class="primary" disabled=${newestLast.length !== 2}
        onClick=${() => go(comparisonLink(newestLast[1], newestLast[0]).slice(1))}>${t("experiments.compare")}</button>
      <span class="muted small" role="status">${newestLast.length === 2 ? t("experiments.compare.two", { a: newestLast[0], b: newestLast[1] })
        : t("experiments.compare.hint")}</span></p>`;
}

/** @param {{ row: ExperimentRow, isChosen: boolean, onChoose: (name: string) => void }} props */
function Row({ row, isChosen, onChoose }) {
  const { name, passed } = row;
  return html`<tr>
    <td><input type="checkbox" checked=${isChosen} aria-label=${t("experiments.choose.name", { name: printable(name) })} onChange=${() => onChoose(name)} /></td>
    <th scope="row"><a href=${experimentLink(name)}><bdi>${printable(name)}</bdi></a>
      <span class="small muted">${printable(row.suite)}${row.overrides.length > 0 && html` · <code>${printable(row.overrides.join("  "))}</code>`}</span></th>
    <td class="small"><time datetime=${row.created} title=${dateTime(row.created)}>${ago(row.created)}</time></td>
    <td class="number small">${row.finished}/${row.total}
      ${row.failed > 0 && html` <span class="badge bad">${t("experiments.failed", { n: row.failed })}</span>`}</td>
    <td>${passed && html`<${IntervalBar} interval=${passed} text=${percent(passed.value, 1)} />`}</td>
  </tr>`;
}
