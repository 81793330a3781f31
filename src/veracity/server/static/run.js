// One run at an address of its own: the same while it is under way, waits, or has ended.
import { html, useEffect, useState } from "./vendor/preact.js";
import { citationsOf } from "./citing.js";
import { typeForNew } from "./composer.js";
import { dateTime, t } from "./i18n.js";
import { Missing } from "./missing.js";
import { go } from "./routes.js";
import { Source } from "./source.js";
import { Turn } from "./turn.js";
import { useRun } from "./watching.js";

export function Run({ me, route }) {
  return html`<${Watched} key=${route.id} me=${me} runId=${route.id} />`;
}

function Watched({ me, runId }) {
  const run = useRun({ runId });
  const [cited, setCited] = useState(null);
  useEffect(() => { setCited(null); }, [run.answer]);
  if (run.phase === "refused") return html`<${Missing} title=${t("ask.noRun")} />`;
  return html`<div class="ask-layout" data-source=${Boolean(cited)}>
    <div class="ask-column">
      <h1 class="visually-hidden">${t("shell.run")}</h1>
      <p class="ask-crumb small muted">${t("shell.run")} <code>${runId}</code>${run.started && html` · ${dateTime(run.started)}`}
        ${run.user && run.user !== me.user && html` · <bdi>${run.user}</bdi>`}
        ${run.conversation && run.user === me.user && html` · <a href=${`#/c/${encodeURIComponent(run.conversation)}`}>${t("ask.toConversation")}</a>`}</p>
      ${run.phase !== "loading" && html`<${Turn} run=${run} me=${me} onAskAgain=${askAgain}
        onCite=${(citation, answer) => setCited({ citation, answer })} />`}
    </div>
    ${cited && html`<${Source} citation=${cited.citation} evidence=${cited.answer.evidence} citations=${citationsOf(cited.answer)}
      onCite=${(citation) => setCited({ ...cited, citation })} onClose=${() => setCited(null)} />`}
  </div>`;
}

function askAgain(run) {
  typeForNew(run.question);
  go("/");
}
