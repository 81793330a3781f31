// Who decided on an answer on its way, and why, for whoever reads it. What became of the answer itself stands in it.
import { html } from "./vendor/preact.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { writtenIn } from "./letters.js";
import { visible } from "./visible.js";

export function Decisions({ answer }) {
  const told = (answer.decisions ?? []).map((one) => ({ ...one, key: wordsFor(one, answer) })).filter(({ key }) => key);
  if (!told.length) return null;
  return html`<ul class="ask-decisions">${told.map(({ key, by, reason }) => html`<li class="small">
    <${Icon} name="person" size=${16} /><span>${t(key, { name: visible(by) })}<${Reason} text=${reason} /></span></li>`)}</ul>`;
}

// An approval without a reason is among the notices, and the rejection of the answer that is shown above it.
function wordsFor({ verdict, attempt, reason }, answer) {
  if (verdict === "approve") return reason ? "ask.decided.approved" : "";
  if (attempt < answer.attempt) return "ask.decided.first";
  return answer.status === "abstained" ? "ask.decided.search" : "";
}

export function Reason({ text }) {
  return text ? html` <q class="answer-reason" dir="auto" lang=${writtenIn(text)}>${visible(text)}</q>` : null;
}
