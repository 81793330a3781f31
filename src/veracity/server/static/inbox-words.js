// How the inbox names people and writes scores.

import { number, t } from "./i18n.js";
import { visible } from "./visible.js";

export function nameOf(me, name) {
  return name === me.user ? t("inbox.decided.you") : visible(name);
}

/** An abstention for which the web can be searched: it is no draft to reject, it is a question what to do. */
export function isOffer(approval) {
  return approval.why === "abstained" && approval.on_reject === "search";
}

/** From 0 to 100, as metrics are scored. */
export function shownScore(share) {
  return number(Math.round(share * 1000) / 10, 1);
}

export function scoreOf({ score }) {
  return score === null ? "–" : shownScore(score);
}
