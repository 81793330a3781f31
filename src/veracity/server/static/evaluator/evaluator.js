// The evaluator view: the metrics that score answers, and a form to try them.
import { html } from "../lib/preact.js";
import { ErrorNotice, Loading } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { t, useLanguage } from "../lib/i18n.js";
import { Metrics } from "./metrics.js";
import { EvaluatorTabs } from "./tabs.js";
import { Trial } from "./trial.js";
/** @import { GateDescription, Me } from "../lib/types.d.ts" */

/** @param {{ me: Me }} props */
export function Evaluator({ me }) {
  useLanguage();
  const { value: gate, error, reload } = useLoaded(() => /** @type {Promise<GateDescription>} */ (get("/api/evaluator")), []);
  return html`<div class="view evaluator">
    <header class="view-head"><h1>${t("shell.evaluator")}</h1><${EvaluatorTabs} me=${me} current="evaluator" /></header>
    <p class="evaluator-intro muted">${t("evaluator.intro")}</p>
    ${error && html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`}
    ${!gate && !error && html`<${Loading} text=${t("evaluator.loading")} />`}
    ${gate && html`<div class="evaluator-columns"><${Metrics} gate=${gate} /><${Trial} gate=${gate} /></div>`}
  </div>`;
}
