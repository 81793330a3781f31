// The stages of a run as a line. Each opens its details.
import { html, useEffect, useId, useState } from "../lib/preact.js";
import { duration, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { StageDetails } from "./stage-details.js";
import { groupStages, summarizeStage } from "./stages.js";
/** @import { ActiveStep, Step } from "../lib/types.d.ts" */
/** @import { Stage as StageData } from "./stages.js" */

/** @type {Record<string, string>} */
const ICONS = { good: "check", warn: "warn", bad: "cross", "": "check" };

/**
 * `isPending`: the run waits for an approval. `isLost`: the page does not know how the run goes on.
 * @param {{ steps: Step[], active?: ActiveStep[], isOver?: boolean, isPending?: boolean, isLost?: boolean, question?: string, runId?: string }} props
 */
export function Timeline({ steps, active = [], isOver = active.length === 0, isPending = false, isLost = false, question = "", runId = "" }) {
  const [open, setOpen] = useState("");
  const id = useId();
  const rows = groupStages(steps, active, { isOver, isPending });
  const toggle = (/** @type {string} */ key) => setOpen(open === key ? "" : key);
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !open) return;
    event.stopPropagation();
    setOpen("");
  };
  return html`<div class="timeline" onKeyDown=${onKey}>
    <h3 class="visually-hidden">${t("ask.stages")}</h3>
    ${rows.map((row, number) => {
      const chosen = row.find((stage) => `${number}.${stage.name}` === open);
      return html`
        ${rows.length > 1 && html`<p class="timeline-attempt">${t("ask.attempt", { n: number + 1 })}</p>`}
        <ol class="timeline-line">
          ${row.map((stage) => html`<${Stage} key=${stage.name} stage=${stage} panel=${`${id}-${number}`} isLost=${isLost}
            isOpen=${stage === chosen} onToggle=${() => toggle(`${number}.${stage.name}`)} />`)}
        </ol>
        <div id=${`${id}-${number}`}>${chosen && html`<${StageDetails} stage=${chosen} question=${question} runId=${runId} />`}</div>`;
    })}
  </div>`;
}

/** @param {{ stage: StageData, panel: string, isLost: boolean, isOpen: boolean, onToggle: () => void }} props */
function Stage({ stage, panel, isLost, isOpen, onToggle }) {
  const { name, state, rounds, seconds, since } = stage;
  const summary = summarizeStage(stage);
  const tone = summary?.tone || "";
  return html`<li class="timeline-stage" data-state=${state} data-tone=${tone}>
    <button type="button" aria-expanded=${isOpen} aria-controls=${panel} disabled=${state === "todo"} onClick=${onToggle}>
      <span class="timeline-mark" aria-hidden="true">${(state === "done" || state === "broken") && html`<${Icon} name=${ICONS[tone]} size=${12} />`}
        ${state === "waiting" && html`<${Icon} name="person" size=${12} />`}</span>
      <span class="timeline-name">${t(`ask.stage.${name}`)}${rounds > 1 && html`<span class="timeline-rounds" title=${t("ask.rounds", { n: rounds })}>
        <${Icon} name="again" size=${11} /><span aria-hidden="true">${rounds}</span><span class="visually-hidden">${t("ask.rounds", { n: rounds })}</span></span>`}</span>
      <span class="timeline-found">${state === "active" ? t(isLost ? "ask.lost" : `ask.doing.${name}`) : summary ? t(summary.key, summary.values) : ""}</span>
      <span class="timeline-time number">${state === "active" ? !isLost && html`<${Elapsed} since=${since} before=${seconds} />`
        : seconds > 0 ? duration(seconds) : ""}</span>
    </button>
  </li>`;
}

/** The running time of an active stage, hidden from screen readers. @param {{ since: number, before: number }} props */
function Elapsed({ since, before }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 200);
    return () => clearInterval(timer);
  }, []);
  const seconds = before + (performance.now() - since) / 1000;
  return html`<span aria-hidden="true">${seconds < 0.5 ? "" : duration(seconds)}</span>`;
}
