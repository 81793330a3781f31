// What the models of a run consumed, by role, and their prompts where they are kept. Read from the receipt when opened.
import { html, useState } from "../lib/preact.js";
import { ErrorNotice, Loading } from "../lib/components.js";
import { asApiError, get } from "../lib/http.js";
import { dateTime, duration, nameOf, number, t } from "../lib/i18n.js";
import { printable } from "../lib/text.js";
/** @import { CallMessage, ModelCall, Receipt, Usage } from "../lib/types.d.ts" */

/** @param {{ runId: string }} props */
export function ModelUsage({ runId }) {
  const [receipt, setReceipt] = useState(/** @type {Receipt | null} */ (null));
  const [problem, setProblem] = useState("");
  const load = async () => {
    setProblem("");
    try {
      setReceipt(await get(`/api/runs/${encodeURIComponent(runId)}`));
    } catch (error) {
      setProblem(asApiError(error).message);
    }
  };
  const onToggle = (/** @type {{ currentTarget: HTMLDetailsElement }} */ { currentTarget }) => { if (currentTarget.open) load(); };
  return html`<details class="ask-usage" onToggle=${onToggle}><summary class="small">${t("ask.usage")}</summary>
    ${problem ? html`<${ErrorNotice} text=${problem} onRetry=${load} />`
      : receipt ? html`<${UsageTable} receipt=${receipt} /><${Prompts} calls=${receipt.calls} />`
      : html`<${Loading} text=${t("shell.loading")} />`}
  </details>`;
}

/** @param {{ receipt: Receipt }} props */
function UsageTable({ receipt }) {
  const roles = Object.entries(receipt.usage_by_role);
  return html`<div class="ask-usage-wide" role="region" tabindex="0" aria-label=${t("ask.usage")}><table class="small">
    <thead><tr><th scope="col">${t("ask.usage.role")}</th>
      ${["calls", "input", "cached", "output", "cost"].map((name) => html`<th scope="col" class="number">${t(`ask.usage.${name}`)}</th>`)}</tr></thead>
    <tbody>${roles.map(([role, usage]) => html`<tr key=${role}><th scope="row">${printable(nameOf("ask.role.", role))}</th>${renderFigures(usage)}</tr>`)}
      <tr class="ask-usage-total"><th scope="row">${t("ask.usage.total")}</th>${renderFigures(receipt.usage)}</tr></tbody>
  </table></div>`;
}

/** @param {Usage} usage */
function renderFigures(usage) {
  const counts = [usage.calls, usage.input_tokens, usage.cached_tokens, usage.output_tokens];
  return html`${counts.map((count) => html`<td class="number">${number(count)}</td>`)}<td class="number">${formatCost(usage)}</td>`;
}

/** @param {Usage} usage */
function formatCost({ cost_usd: cost }) {
  return cost === null ? t("ask.usage.unknown") : `$${cost.toFixed(4)}`;
}

/** @param {{ calls: ModelCall[] }} props */
function Prompts({ calls }) {
  if (!calls.length) return null;
  return html`<h3 class="small">${t("ask.prompts")}</h3>
    <ol class="ask-prompts">${calls.map((call, index) => html`<li key=${index}><${Call} call=${call} /></li>`)}</ol>`;
}

/** @param {{ call: ModelCall }} props */
function Call({ call }) {
  const { role, model, started, seconds, usage, texts } = call;
  return html`<details><summary class="small">${printable(nameOf("ask.role.", role))} · ${printable(model)}</summary>
    <p class="small muted number">${dateTime(started)} · ${duration(seconds)} · ${t("ask.prompts.tokens", {
      input: number(usage.input_tokens), cached: number(usage.cached_tokens), output: number(usage.output_tokens),
    })} · ${formatCost(usage)}</p>
    ${texts === null && html`<p class="muted">${t("ask.forgotten")}</p>`}
    ${texts?.problem && html`<p class="timeline-bad">${printable(texts.problem)}</p>`}
    ${texts?.prompt.map((message) => renderMessage(t(`ask.message.${message.role}`), message))}
    ${texts?.reply && renderMessage(t("ask.reply"), texts.reply)}
  </details>`;
}

/** @param {string} title @param {CallMessage} message */
function renderMessage(title, { text, cut }) {
  return html`<h4 class="small">${title}</h4><pre class="small" dir="auto">${printable(text)}</pre>
    ${cut > 0 && html`<p class="small muted">${t("ask.prompts.cut", { n: number(cut) })}</p>`}`;
}
