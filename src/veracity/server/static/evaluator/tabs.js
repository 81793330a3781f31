// Links between the evaluator and the experiments, for those who may see both.
import { html } from "../lib/preact.js";
import { t } from "../lib/i18n.js";
/** @import { Me } from "../lib/types.d.ts" */

/** @param {{ me: Me, current: string }} props */
export function EvaluatorTabs({ me, current }) {
  if (me.role === "asker") return null;
  return html`<nav class="evaluator-tabs" aria-label=${t("shell.evaluator")}>
    ${["evaluator", "experiments"].map((view) => html`<a key=${view} class="button quiet" href=${`#/${view}`} aria-current=${view === current ? "page" : null}>
      ${t(`evaluator.tab_${view}`)}</a>`)}</nav>`;
}
