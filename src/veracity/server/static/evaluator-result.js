// What a trial came to: the scores, and what would become of an answer that has them.
import { html } from "./vendor/preact.js";
import { duration, t } from "./i18n.js";
import { Scores } from "./scores.js";
import { points } from "./points.js";

export function TrialResult({ result, told, isOld }) {
  const share = result.overall_score / 100;
  return html`<section class="card evaluator-result" aria-labelledby="evaluator-result">
    <h3 id="evaluator-result">${t("evaluator.result")}</h3>
    ${isOld && html`<p class="notice warn">${t("evaluator.outdated")}</p>`}
    <p class="evaluator-verdict">${verdict(share, told)}</p>
    <${Scores} evaluation=${result} score=${share} threshold=${told.threshold} />
    <p class="muted small">${t("evaluator.took", { time: duration(result.seconds) })}</p>
  </section>`;
}

function verdict(share, { threshold, policy }) {
  const values = { score: points(share, threshold), threshold: points(threshold) };
  if (policy === "always") return t("evaluator.always_ask");
  if (share >= threshold) return t("evaluator.would_pass", values);
  return t(policy === "never" ? "evaluator.would_notice" : "evaluator.would_ask", values);
}
