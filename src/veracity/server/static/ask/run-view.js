// The view of one run at its own address, whether it is running, pending or over.
import { html, useEffect, useState } from "../lib/preact.js";
import { AnswerSource } from "../answer/source.js";
import { NotFound } from "../lib/components.js";
import { dateTime, t } from "../lib/i18n.js";
import { conversationLink, go } from "../lib/routes.js";
import { typeNewQuestion } from "./composer.js";
import { useRun } from "./run-state.js";
import { Turn } from "./turn.js";
/** @import { Me, OnCite, OpenCitation, Route, Run } from "../lib/types.d.ts" */

/** @param {{ me: Me, route: Route }} props */
export function RunView({ me, route }) {
  return html`<${OneRun} key=${route.id} me=${me} runId=${route.id} />`;
}

/** @param {{ me: Me, runId: string }} props */
function OneRun({ me, runId }) {
  const run = useRun({ runId });
  const [open, setOpen] = useState(/** @type {OpenCitation | null} */ (null));
  useEffect(() => { setOpen(null); }, [run.answer]);
  /** @type {OnCite} */
  const cite = (citation, answer) => setOpen({ citation, answer });
  if (run.phase === "refused") return html`<${NotFound} title=${t("ask.noRun")} />`;
  return html`<div class="ask-layout" data-source=${Boolean(open)}>
    <div class="ask-column">
      <h1 class="visually-hidden">${t("shell.run")}</h1>
      <p class="ask-crumb small muted">${t("shell.run")} <code>${runId}</code>${run.started && html` · ${dateTime(run.started)}`}
        ${run.user && run.user !== me.user && html` · <bdi>${run.user}</bdi>`}
        ${run.conversation && run.user === me.user && html` · <a href=${conversationLink(run.conversation)}>${t("ask.toConversation")}</a>`}</p>
      ${run.phase !== "loading" && html`<${Turn} run=${run} me=${me} onAskAgain=${askAgain} onEdit=${askAgain} onCite=${cite} />`}
    </div>
    ${open && html`<${AnswerSource} open=${open} onCite=${cite} onClose=${() => setOpen(null)} />`}
  </div>`;
}

/** @param {Run} run */
function askAgain(run) {
  typeNewQuestion(run.question);
  go("/");
}
