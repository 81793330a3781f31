// The evaluator page: by what answers are scored, and a place to try it.
import { html, useCallback, useEffect, useState } from "./vendor/preact.js";
import { feed, get } from "./api.js";
import { t, useLanguage } from "./i18n.js";
import { Metrics } from "./evaluator-metrics.js";
import { Trial } from "./evaluator-trial.js";

export function Evaluator() {
  useLanguage();
  const [standing, setStanding] = useState({ told: null, problem: "" });
  const load = useCallback(async () => {
    try {
      setStanding({ told: await get("/api/evaluator"), problem: "" });
    } catch (problem) {
      setStanding({ told: null, problem: problem.message });
    }
  }, []);
  useEffect(() => { load(); }, [load]);

  const { told, problem } = standing;
  useEffect(() => (problem ? feed.on("hello", load) : undefined), [problem]); // the server or the session is back
  return html`<div class="view evaluator">
    <header class="view-head"><h1>${t("shell.evaluator")}</h1></header>
    <p class="evaluator-intro muted">${t("evaluator.intro")}</p>
    ${problem && html`<div class="notice bad" role="alert"><span>${problem}</span>
      <button class="small" onClick=${load}>${t("evaluator.again")}</button></div>`}
    ${!told && !problem && html`<p class="row muted"><span class="spinner"></span>${t("evaluator.loading")}</p>`}
    ${told && html`<div class="evaluator-columns"><${Metrics} told=${told} /><${Trial} told=${told} /></div>`}
  </div>`;
}
