// The shell of the page: signs in, finds the view for the address, and tells when the connection is lost.
// Knows nothing about what the views show.
import { html, render, useCallback, useEffect, useErrorBoundary, useRef, useState } from "./vendor/preact.js";
import { feed, get, onSignedOut, signIn, signOut } from "./api.js";
import { t, useLanguage } from "./i18n.js";
import { Icon } from "./icons.js";
import { Navigation } from "./navigation.js";
import { usePending } from "./pending.js";
import { readRoute, takeToken } from "./routes.js";
import { SignIn, told } from "./signin.js";

const VIEWS = {
  ask: () => import("./ask.js").then((module) => module.Ask),
  run: () => import("./run.js").then((module) => module.Run),
  inbox: () => import("./inbox.js").then((module) => module.Inbox),
  conversations: () => import("./conversations.js").then((module) => module.Conversations),
  documents: () => import("./documents.js").then((module) => module.Documents),
  evaluator: () => import("./evaluator.js").then((module) => module.Evaluator),
};

const arrivedWith = takeToken(); // before anything reads the address

// Who is signed in: {me, state: "starting" | "out" | "in" | "again" | "offline", problem}.
function useSession() {
  const [session, setSession] = useState({ me: null, state: "starting", problem: "" });

  const enter = useCallback(async () => {
    const me = await get("/api/me");
    setSession({ me, state: "in", problem: "" });
    feed.start();
  }, []);

  const start = useCallback(async (token) => {
    try {
      if (token) await signIn(token);
      await enter();
    } catch (refused) {
      const isOffline = refused.kind === "Offline";
      setSession({ me: null, state: isOffline ? "offline" : "out", problem: isOffline || token ? told(refused) : "" });
    }
  }, []);

  useEffect(() => {
    start(arrivedWith);
    const onToken = () => { if (location.hash.startsWith("#token=")) start(takeToken()); };
    window.addEventListener("hashchange", onToken);
    const off = onSignedOut(() => {
      feed.stop();
      setSession((session) => (session.state === "in" ? { ...session, state: "again" } : session));
    });
    return () => { off(); window.removeEventListener("hashchange", onToken); };
  }, []);

  const leave = async () => {
    feed.stop();
    await signOut().catch(() => {});
    setSession({ me: null, state: "out", problem: "" });
  };
  return { ...session, enter, start, leave };
}

function useRoute() {
  const [route, setRoute] = useState(() => readRoute());
  useEffect(() => {
    const changed = () => { if (!location.hash.startsWith("#token=")) setRoute(readRoute()); };
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return route;
}

function useConnection() {
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    let timer = 0;
    const off = feed.on("state", (state) => { // a short break is not worth a word
      clearTimeout(timer);
      if (state === "reconnecting") timer = setTimeout(() => setLost(true), 1500);
      else setLost(false);
    });
    return () => { clearTimeout(timer); off(); };
  }, []);
  return isLost;
}

function Page() {
  useLanguage();
  const session = useSession();
  const route = useRoute();
  const pending = usePending();
  const isLost = useConnection();
  const main = useRef(null);
  const before = useRef(route.view);

  useEffect(() => {
    const name = t(`shell.${route.view}`);
    const waiting = pending > 0 && session.me ? `(${pending}) ` : "";
    document.title = `${waiting}${name} · ${t("shell.name")}`;
  });
  useEffect(() => {
    if (before.current === route.view) return;
    before.current = route.view;
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [route.view]);

  if (session.state === "starting") return null;
  if (session.state === "offline") return html`<${Unreachable} problem=${session.problem} onRetry=${() => session.start(arrivedWith)} />`;
  if (session.state === "out") return html`<${SignIn} problem=${session.problem} onSignedIn=${session.enter} />`;
  return html`
    <div class="shell" inert=${session.state === "again"}>
      <a class="shell-skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>${t("shell.skip")}</a>
      <${Navigation} me=${session.me} view=${route.view} pending=${pending} onSignOut=${session.leave} />
      <main id="main" class="shell-main" tabindex="-1" ref=${main}>
        <div role="status">${isLost && html`<p class="shell-lost notice warn"><${Icon} name="warn" /> ${t("shell.reconnecting")}</p>`}</div>
        <${Guarded} key=${route.view} me=${session.me} route=${route} />
      </main>
    </div>
    ${session.state === "again" && html`<${SignIn} isAgain onSignedIn=${session.enter} />`}`;
}

// A view that breaks must not take the navigation with it.
function Guarded({ me, route }) {
  const [View, setView] = useState(null);
  const [problem, forget] = useErrorBoundary((error) => console.error(error));
  const [failed, setFailed] = useState(null);
  useEffect(() => {
    VIEWS[route.view]?.().then((view) => setView(() => view), setFailed);
  }, []);
  if (!Object.hasOwn(VIEWS, route.view)) return html`<${NotFound} />`;
  if (problem || failed) {
    const again = () => (failed ? location.reload() : forget());
    return html`<div class="view"><div class="empty stack"><h1>${t("shell.broken")}</h1>
      <p>${String((problem || failed).message)}</p><p><button type="button" onClick=${again}>${t("shell.tryAgain")}</button></p></div></div>`;
  }
  return View ? html`<${View} me=${me} route=${route} />` : null;
}

export function NotFound() {
  return html`<div class="view"><div class="empty stack"><h1>${t("shell.notFound")}</h1><p>${t("shell.notFound.lead")}</p>
    <p><a class="button" href="#/">${t("shell.new")}</a></p></div></div>`;
}

function Unreachable({ problem, onRetry }) {
  return html`<div class="shell-door"><div class="card stack shell-sign-in"><h1>${t("shell.name")}</h1>
    <p class="notice warn" role="alert"><${Icon} name="warn" /> ${problem}</p>
    <button type="button" class="primary" onClick=${onRetry}>${t("shell.tryAgain")}</button></div></div>`;
}

render(html`<${Page} />`, document.getElementById("page"));
