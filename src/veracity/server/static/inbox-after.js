// What comes of a rejection: the run goes on with a search of the web, and this tells of it until it ends or waits again.

import { html, useEffect, useState } from "./vendor/preact.js";
import { follow } from "./api.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { points } from "./points.js";
import { inOwnWords } from "./reasons.js";
import { visible } from "./visible.js";

const BEGUN = { web_search: "searching", generate_answer: "writing", eval_answer: "reviewing", evaluate: "scoring" };
const DONE = { web_search: "writing", generate_answer: "reviewing" }; // a run of another process tells only what is done

/** `stage` of the second attempt, `end` the last event of the run, `state` that of the connection. */
function useRest(approval) {
  const [seen, setSeen] = useState({ stage: "searching", end: null, state: "open" });
  useEffect(() => {
    setSeen({ stage: "searching", end: null, state: "open" });
    let hasSearched = false; // what comes before the search of the web belongs to the draft that was rejected
    const change = (what) => setSeen((before) => ({ ...before, ...what }));
    const onEvent = (event) => {
      hasSearched ||= event.name === "web_search";
      const stage = (event.kind === "started" ? BEGUN : DONE)[event.name];
      if (event.kind === "answer" || event.kind === "failed") change({ end: event });
      else if (hasSearched && stage) change({ stage });
    };
    const onError = (refused) => change({ end: { kind: "failed", problem: refused.message } });
    const following = follow(approval.run_id, { onEvent, onState: (state) => change({ state }), onError });
    return () => following.stop();
  }, [approval.approval_id]);
  return seen;
}

/** `newer` is the approval of the second answer, where it is known already. */
export function After({ approval, newer }) {
  const { stage, end, state } = useRest(approval);
  const second = end?.answer?.status === "awaiting_approval" ? end.answer.approval_id : "";
  const waiting = newer ? (newer.state === "pending" ? newer.approval_id : "") : second;
  return html`
    <section class="inbox-after" aria-label=${t("inbox.after")} aria-live="polite">
      ${waiting ? html`<${Waits} id=${waiting} />`
        : end ? html`<${End} end=${end} newer=${newer} />`
        : html`<p class="row"><span class="spinner" aria-hidden="true"></span>
            ${t(state === "reconnecting" ? "inbox.after.reconnecting" : `inbox.after.${stage}`)}</p>`}
    </section>`;
}

function Waits({ id }) {
  return html`<p class="row spread"><span>${t("inbox.after.waits")}</span>
    <a class="button primary" href=${`#/inbox/${encodeURIComponent(id)}`}>${t("inbox.after.open")}<${Icon} name="right" /></a></p>`;
}

function End({ end, newer }) {
  if (end.kind === "failed") return html`<p>${t("inbox.after.failed", { problem: visible(inOwnWords(end.problem ?? "")) })}</p>`;
  const { status, score } = end.answer;
  if (status !== "answered") return html`<p>${t(`inbox.after.${status === "abstained" ? "abstained" : "rejected"}`)}</p>`;
  const byItself = !newer && score !== null;
  return html`<p>${byItself ? t("inbox.after.answered", { score: points(score) }) : t("inbox.after.approved")}</p>`;
}
