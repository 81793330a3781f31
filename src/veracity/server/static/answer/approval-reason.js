// Why an answer waits for approval, in one sentence.
import { points, t } from "../lib/i18n.js";
import { lowestGrounding } from "./scores.js";
/** @import { Answer, Approval, Me } from "../lib/types.d.ts" */

const THRESHOLDS = new Set(["low_score", "low_grounding"]);

/** @param {Answer} draft @param {Me} me */
export const formatScore = ({ score }, { threshold }) => (score === null ? "–" : points(score, threshold));

/** @param {Approval} approval @param {Me} me */
export function describeReason({ why, draft }, me) {
  const suffix = me.policy === "always" && THRESHOLDS.has(why) ? ".always" : ""; // no score is sent without approval
  return t(`inbox.why.${why}${suffix}`, {
    score: formatScore(draft, me), threshold: points(me.threshold),
    grounding: lowestGrounding(draft.grounding, me.grounding_floor), floor: points(me.grounding_floor),
  });
}
