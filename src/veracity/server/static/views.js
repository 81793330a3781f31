// The view for an address, loaded when it is first wanted. One that breaks does not take the navigation with it, and one
// that could not be loaded comes by itself once the server is back. Knows nothing about what the views show.
import { html, useEffect, useErrorBoundary, useState } from "./vendor/preact.js";
import { feed, get } from "./api.js";
import { t } from "./i18n.js";
import { Missing } from "./missing.js";

const VIEWS = {
  ask: () => import("./ask.js").then((module) => module.Ask),
  run: () => import("./run.js").then((module) => module.Run),
  inbox: () => import("./inbox.js").then((module) => module.Inbox),
  conversations: () => import("./conversations.js").then((module) => module.Conversations),
  documents: () => import("./documents.js").then((module) => module.Documents),
  evaluator: () => import("./evaluator.js").then((module) => module.Evaluator),
};

const AGAIN = 3000; // milliseconds: after a break so short that the feed has not noticed it
const APART = 60000;
const RELOADED = "veracity.reloaded";

export function View({ me, route }) {
  const { Loaded, isFailed } = useView(route.view);
  const [problem, forget] = useErrorBoundary((error) => console.error(error));
  if (!Object.hasOwn(VIEWS, route.view)) return html`<${Missing} title=${t("shell.notFound")} />`;
  if (problem) return html`<${Broken} text=${String(problem.message)} onAgain=${forget} />`;
  if (isFailed) return html`<${Broken} text=${t("shell.notLoaded")} onAgain=${() => location.reload()} />`;
  return Loaded ? html`<${Loaded} me=${me} route=${route} />` : null;
}

function useView(name) {
  const [Loaded, setLoaded] = useState(null);
  const [isFailed, setFailed] = useState(false);
  const load = () => VIEWS[name]?.().then((view) => {
    setLoaded(() => view);
    setFailed(false);
  });
  useEffect(() => { load()?.catch(() => setFailed(true)); }, []);
  useEffect(() => {
    if (!isFailed) return undefined;
    const again = async () => { // browsers remember that a module could not be loaded, until the page is loaded anew
      if (await get("/healthz").catch(() => null)) load().catch(reloadOnce);
    };
    const timer = setInterval(again, AGAIN);
    const off = feed.on("hello", again);
    return () => {
      clearInterval(timer);
      off();
    };
  }, [isFailed]);
  return { Loaded, isFailed };
}

// Not again and again: it may be the module that is broken.
function reloadOnce() {
  try {
    if (Date.now() - Number(sessionStorage.getItem(RELOADED)) < APART) return;
    sessionStorage.setItem(RELOADED, Date.now());
  } catch {
    return; // storage may be switched off: there is the button
  }
  location.reload();
}

function Broken({ text, onAgain }) {
  return html`<div class="view"><div class="empty stack"><h1>${t("shell.broken")}</h1>
    <p>${text}</p><p><button type="button" onClick=${onAgain}>${t("shell.tryAgain")}</button></p></div></div>`;
}
