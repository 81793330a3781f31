// How the inbox names people and writes scores.

import { t } from "./i18n.js";
import { points } from "./points.js";
import { visible } from "./visible.js";

export function nameOf(me, name) {
  return name === me.user ? t("inbox.decided.you") : visible(name);
}

/** An abstention for which the web can be searched: it is no draft to reject, it is a question what to do. */
export function isOffer(approval) {
  return approval.why === "abstained" && approval.on_reject === "search";
}

export function scoreOf({ score }, { threshold }) {
  return score === null ? "–" : points(score, threshold);
}
