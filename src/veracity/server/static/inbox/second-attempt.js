// The progress of a run after a decision that leads to another answer: from the web, or with a note.
import { html, useEffect, useState } from "../lib/preact.js";
import { translateReason } from "../lib/http.js";
import { points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { approvalLink } from "../lib/routes.js";
import { followRun } from "../lib/run-stream.js";
import { printable } from "../lib/text.js";
/** @import { Approval, RunMessage, StreamState } from "../lib/types.d.ts" */

/**
 * @typedef {Extract<RunMessage, { kind: "answer" | "failed" }>} LastMessage
 * @typedef {{ stage: string, end: LastMessage | null, connection: StreamState }} Progress
 */

/** @type {Record<string, string>} */
const STARTED = { web_search: "searching", generate_answer: "writing", eval_answer: "reviewing", evaluate: "scoring" };
/** A run of another process reports only finished steps. @type {Record<string, string>} */
const FINISHED = { web_search: "writing", generate_answer: "reviewing" };
/** @type {Progress} */
const START = { stage: "searching", end: null, connection: "open" };

/** @param {Approval} approval */
function useProgress(approval) {
  const [progress, setProgress] = useState(START);
  useEffect(() => {
    const first = approval.state === "sent_back" ? "writing" : "searching";
    setProgress({ ...START, stage: first });
    let isLater = false; // earlier events belong to the draft that was decided
    const change = (/** @type {Partial<Progress>} */ changes) => setProgress((before) => ({ ...before, ...changes }));
    const onEvent = (/** @type {RunMessage} */ event) => {
      if (event.kind === "answer" || event.kind === "failed") return change({ end: event });
      const name = event.kind === "started" ? event.name : event.kind === "finished" ? event.step.name : "";
      isLater ||= name === "web_search" || (event.kind === "finished" && "attempt" in event.step.facts && (event.step.facts.attempt ?? 0) > approval.attempt);
      const stage = (event.kind === "started" ? STARTED : FINISHED)[name];
      return isLater && stage ? change({ stage }) : undefined;
    };
    const stream = followRun(approval.run_id, {
      onEvent,
      onState: (connection) => change({ connection }),
      onError: (error) => change({ end: { kind: "failed", problem: error.message } }),
    });
    return () => stream.stop();
  }, [approval.approval_id]);
  return progress;
}

/**
 * `newer` is the approval of the second answer, if it is known already.
 * @param {{ approval: Approval, newer?: Approval }} props
 */
export function SecondAttempt({ approval, newer }) {
  const { stage, end, connection } = useProgress(approval);
  const awaited = end?.kind === "answer" && end.answer.status === "awaiting_approval" ? end.answer.approval_id : "";
  const pendingId = newer ? (newer.state === "pending" ? newer.approval_id : "") : awaited;
  return html`
    <section class="inbox-after" aria-label=${t("inbox.after")} aria-live="polite">
      ${pendingId ? html`<${Pending} id=${pendingId} />`
        : end ? html`<p>${describeEnd(end, newer)}</p>`
        : html`<p class="row"><span class="spinner" aria-hidden="true"></span>
            ${t(connection === "reconnecting" ? "inbox.after.reconnecting" : `inbox.after.${stage}`)}</p>`}
    </section>`;
}

/** @param {{ id: string }} props */
function Pending({ id }) {
  return html`<p class="row spread"><span>${t("inbox.after.waits")}</span>
    <a class="button primary" href=${approvalLink(id)}>${t("inbox.after.open")}<${Icon} name="right" /></a></p>`;
}

/** @param {LastMessage} end @param {Approval | undefined} newer */
function describeEnd(end, newer) {
  if (end.kind === "failed") return t("inbox.after.failed", { problem: printable(translateReason(end.problem ?? "")) });
  const { status, score } = end.answer;
  if (status !== "answered") return t(`inbox.after.${status === "abstained" ? "abstained" : "rejected"}`);
  return newer || score === null ? t("inbox.after.approved") : t("inbox.after.answered", { score: points(score) });
}
