// Loads the view for an address on first use. A view that throws leaves the navigation intact, and a view that could not
// be loaded is retried once the server is back.
import { html, useEffect, useErrorBoundary, useState } from "../lib/preact.js";
import { NotFound } from "../lib/components.js";
import { feed } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { session } from "../lib/storage.js";
/** @import { ComponentChildren } from "../lib/preact.js" */
/** @import { Me, Route } from "../lib/types.d.ts" */

/** @typedef {(props: { me: Me, route: Route }) => ComponentChildren} ViewComponent */

/** @type {Record<string, () => Promise<ViewComponent>>} */
const VIEWS = {
  ask: () => import("../ask/ask.js").then((module) => module.Ask),
  run: () => import("../ask/run-view.js").then((module) => module.RunView),
  inbox: () => import("../inbox/inbox.js").then((module) => module.Inbox),
  conversations: () => import("../conversations/conversations.js").then((module) => module.Conversations),
  documents: () => import("../documents/documents.js").then((module) => module.Documents),
  experiments: () => import("../experiments/experiments.js").then((module) => module.Experiments),
  evaluator: () => import("../evaluator/evaluator.js").then((module) => module.Evaluator),
};

const RETRY_INTERVAL = 3000; // milliseconds; the feed does not notice a very short break
const RELOAD_INTERVAL = 60000;
const RELOADED = "veracity.reloaded";

/** @param {{ me: Me, route: Route }} props */
export function View({ me, route }) {
  const { Loaded, isFailed } = useView(route.view);
  const [error, resetError] = useErrorBoundary((error) => console.error(error));
  if (!Object.hasOwn(VIEWS, route.view)) return html`<${NotFound} title=${t("shell.notFound")} />`;
  if (error) return html`<${Broken} text=${String(error.message)} onRetry=${resetError} />`;
  if (isFailed) return html`<${Broken} text=${t("shell.notLoaded")} onRetry=${() => location.reload()} />`;
  return Loaded ? html`<${Loaded} me=${me} route=${route} />` : null;
}

/** @param {string} name */
function useView(name) {
  const [Loaded, setLoaded] = useState(/** @type {ViewComponent | null} */ (null));
  const [isFailed, setFailed] = useState(false);
  const load = () => VIEWS[name]?.().then((view) => {
    setLoaded(() => view);
    setFailed(false);
  });
  useEffect(() => { load()?.catch(() => setFailed(true)); }, []);
  useEffect(() => {
    if (!isFailed) return undefined;
    const retry = async () => { // browsers remember a failed import until the page is reloaded
      if (await get("/healthz").catch(() => null)) load().catch(reloadOnce);
    };
    const timer = setInterval(retry, RETRY_INTERVAL);
    const unsubscribe = feed.on("hello", retry);
    return () => {
      clearInterval(timer);
      unsubscribe();
    };
  }, [isFailed]);
  return { Loaded, isFailed };
}

/** Reloads at most once a minute: the module itself may be broken. */
function reloadOnce() {
  if (Date.now() - Number(session.get(RELOADED)) < RELOAD_INTERVAL) return;
  if (session.set(RELOADED, String(Date.now()))) location.reload();
}

/** @param {{ text: string, onRetry: () => void }} props */
function Broken({ text, onRetry }) {
  return html`<div class="view"><div class="empty stack"><h1>${t("shell.broken")}</h1>
    <p>${text}</p><p><button type="button" onClick=${onRetry}>${t("shell.tryAgain")}</button></p></div></div>`;
}
