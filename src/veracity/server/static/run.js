// One run at an address of its own: the same while it is under way, waits, or has ended.
import { html, useEffect, useState } from "./vendor/preact.js";
import { citationsOf } from "./citing.js";
import { keepTyped } from "./composer.js";
import { dateTime, t } from "./i18n.js";
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
  if (run.phase === "refused" && run.refusal?.status === 404) return html`<${Missing} />`;
  return html`<div class="ask-layout" data-source=${Boolean(cited)}>
    <div class="ask-column">
      <p class="ask-crumb small muted">${t("shell.run")} <code>${runId}</code>${run.started && html` · ${dateTime(run.started)}`}
        ${run.user && run.user !== me.user && html` · <bdi>${run.user}</bdi>`}
        ${run.conversation && run.user === me.user && html` · <a href=${`#/c/${encodeURIComponent(run.conversation)}`}>${t("ask.toConversation")}</a>`}</p>
      <${Turn} run=${run} me=${me} isAlone onAskAgain=${askAgain} onCite=${(citation, answer) => setCited({ citation, answer })} />
    </div>
    ${cited && html`<${Source} citation=${cited.citation} evidence=${cited.answer.evidence} citations=${citationsOf(cited.answer)}
      onCite=${(citation) => setCited({ ...cited, citation })} onClose=${() => setCited(null)} />`}
  </div>`;
}

function askAgain(run) {
  keepTyped("", run.question);
  go("/");
}

function Missing() {
  return html`<div class="view"><div class="empty stack"><h1>${t("ask.noRun")}</h1><p>${t("shell.notFound.lead")}</p>
    <p><a class="button" href="#/">${t("shell.new")}</a></p></div></div>`;
}
