// The view for an address. A view that throws leaves the navigation intact.
import { html, useErrorBoundary } from "../lib/preact.js";
import { Admin } from "../admin/admin.js";
import { Ask } from "../ask/ask.js";
import { RunView } from "../ask/run-view.js";
import { Conversations } from "../conversations/conversations.js";
import { Documents } from "../documents/documents.js";
import { Evaluator } from "../evaluator/evaluator.js";
import { Experiments } from "../experiments/experiments.js";
import { Inbox } from "../inbox/inbox.js";
import { NotFound } from "../lib/components.js";
import { t } from "../lib/i18n.js";
/** @import { ComponentChildren } from "../lib/preact.js" */
/** @import { Me, Route } from "../lib/types.d.ts" */

/** @type {Record<string, (props: { me: Me, route: Route }) => ComponentChildren>} */
const VIEWS = {
  ask: Ask, run: RunView, inbox: Inbox, conversations: Conversations, documents: Documents, experiments: Experiments, evaluator: Evaluator, admin: Admin,
};

/** @param {{ me: Me, route: Route }} props */
export function View({ me, route }) {
  const [error, resetError] = useErrorBoundary((error) => console.error(error));
  if (!Object.hasOwn(VIEWS, route.view)) return html`<${NotFound} title=${t("shell.notFound")} />`;
  if (error) return html`<${Broken} text=${String(error.message)} onRetry=${resetError} />`;
  return html`<${VIEWS[route.view]} me=${me} route=${route} />`;
}

/** @param {{ text: string, onRetry: () => void }} props */
function Broken({ text, onRetry }) {
  return html`<div class="view"><div class="empty stack"><h1>${t("shell.broken")}</h1>
    <p>${text}</p><p><button type="button" onClick=${onRetry}>${t("shell.tryAgain")}</button></p></div></div>`;
}
