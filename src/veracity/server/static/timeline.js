// The stages of a run as one line, each opening what happened in it.
import { html, useEffect, useId, useState } from "./vendor/preact.js";
import { Details } from "./details.js";
import { duration, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { outcome, stagesOf } from "./stages.js";

const MARKS = { good: "check", warn: "warn", bad: "cross", "": "check" };

// `steps` that ended, those under way `now` ([{name, since}]); `isOver` when no more will come, `waits` for a person.
export function Timeline({ steps, now = [], isOver = now.length === 0, waits = false, question = "" }) {
  const [open, setOpen] = useState("");
  const id = useId();
  const rows = stagesOf(steps, now, { isOver, waits });
  const toggle = (key) => setOpen(open === key ? "" : key);
  const onKey = (event) => { if (event.key === "Escape" && open) { event.stopPropagation(); setOpen(""); } };
  return html`<div class="timeline" onKeyDown=${onKey}>
    <h3 class="visually-hidden">${t("ask.stages")}</h3>
    ${rows.map((row, number) => {
      const chosen = row.find((stage) => `${number}.${stage.name}` === open);
      return html`
        ${rows.length > 1 && html`<p class="timeline-attempt">${t("ask.attempt", { n: number + 1 })}</p>`}
        <ol class="timeline-line">
          ${row.map((stage) => html`<${Stage} key=${stage.name} stage=${stage} panel=${`${id}-${number}`}
            isOpen=${stage === chosen} onToggle=${() => toggle(`${number}.${stage.name}`)} />`)}
        </ol>
        <div id=${`${id}-${number}`}>${chosen && html`<${Details} stage=${chosen} question=${question} />`}</div>`;
    })}
  </div>`;
}

function Stage({ stage, panel, isOpen, onToggle }) {
  const { name, state, rounds, seconds, since } = stage;
  const found = outcome(stage);
  const tone = found?.tone || "";
  return html`<li class="timeline-stage" data-state=${state} data-tone=${tone}>
    <button type="button" aria-expanded=${isOpen} aria-controls=${panel} disabled=${state === "todo"} onClick=${onToggle}>
      <span class="timeline-mark" aria-hidden="true">${(state === "done" || state === "broken") && html`<${Icon} name=${MARKS[tone]} size=${12} />`}
        ${state === "waiting" && html`<${Icon} name="person" size=${12} />`}</span>
      <span class="timeline-name">${t(`ask.stage.${name}`)}${rounds > 1 && html`<span class="timeline-rounds" title=${t("ask.rounds", { n: rounds })}>
        <${Icon} name="again" size=${11} /><span aria-hidden="true">${rounds}</span><span class="visually-hidden">${t("ask.rounds", { n: rounds })}</span></span>`}</span>
      <span class="timeline-found">${state === "now" ? t(`ask.doing.${name}`) : found ? t(found.key, found.values) : ""}</span>
      <span class="timeline-time number">${state === "now" ? html`<${Elapsed} since=${since} before=${seconds} />`
        : seconds > 0 ? duration(seconds) : ""}</span>
    </button>
  </li>`;
}

// Counts on while a stage is under way. Screen readers are spared it.
function Elapsed({ since, before }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 200);
    return () => clearInterval(timer);
  }, []);
  const seconds = before + (performance.now() - since) / 1000;
  return html`<span aria-hidden="true">${seconds < 0.5 ? "" : duration(seconds)}</span>`;
}
