// The shell of the page: the door, or the navigation with the view for the address; tells when the connection is lost.
// Knows nothing about what the views show.
import { html, render, useEffect, useRef, useState } from "./vendor/preact.js";
import { feed } from "./api.js";
import { t, useLanguage } from "./i18n.js";
import { Icon } from "./icons.js";
import { Navigation } from "./navigation.js";
import { usePending } from "./pending.js";
import { readRoute, takeToken } from "./routes.js";
import { useSession } from "./session.js";
import { SignIn } from "./signin.js";
import { View } from "./views.js";

const arrivedWith = takeToken(); // before anything reads the address

function useRoute() {
  const [route, setRoute] = useState(() => readRoute());
  useEffect(() => {
    const changed = () => { if (!location.hash.startsWith("#token=")) setRoute(readRoute()); };
    const again = (event) => { // a link to where one is already changes no address, and yet one arrives anew
      const address = event.target.closest("a")?.getAttribute("href");
      if (address === (location.hash || "#/") && !event.defaultPrevented) changed();
    };
    window.addEventListener("hashchange", changed);
    window.addEventListener("click", again);
    return () => {
      window.removeEventListener("hashchange", changed);
      window.removeEventListener("click", again);
    };
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
  const session = useSession(arrivedWith);
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
        ${session.problem && html`<p class="shell-lost notice bad" role="alert"><${Icon} name="warn" /> ${session.problem}</p>`}
        <${View} key=${route.view} me=${session.me} route=${route} />
      </main>
    </div>
    ${session.state === "again" && html`<${SignIn} isAgain onSignedIn=${session.enter} />`}`;
}

function Unreachable({ problem, onRetry }) {
  return html`<div class="shell-door"><div class="card stack shell-sign-in"><h1>${t("shell.name")}</h1>
    <p class="notice warn" role="alert"><${Icon} name="warn" /> ${problem}</p>
    <button type="button" class="primary" onClick=${onRetry}>${t("shell.tryAgain")}</button></div></div>`;
}

render(html`<${Page} />`, document.getElementById("page"));
