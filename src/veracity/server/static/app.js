// The shell of the page: the sign-in form, or the navigation with the view for the address.
import { html, render, useEffect, useRef, useState } from "./lib/preact.js";
import { useKeys } from "./inbox/keys.js";
import { useConnectionLost } from "./lib/connection.js";
import { feed } from "./lib/feed.js";
import { t, useLanguage } from "./lib/i18n.js";
import { Icon } from "./lib/icons.js";
import { go, readRoute, takeToken } from "./lib/routes.js";
import { Navigation } from "./shell/navigation.js";
import { Palette } from "./shell/palette.js";
import { useSession } from "./shell/session.js";
import { SignIn } from "./shell/sign-in.js";
import { View } from "./shell/views.js";

const FIELDS = "#question, [role=search] input, input[type=search]"; // what "/" focuses

const initialToken = takeToken(); // before anything reads the address

function useRoute() {
  const [route, setRoute] = useState(() => readRoute());
  useEffect(() => {
    const onHashChange = () => { if (!location.hash.startsWith("#token=")) setRoute(readRoute()); };
    const onClick = (/** @type {MouseEvent} */ event) => { // a link to the current address starts its view anew
      const address = /** @type {Element} */ (event.target).closest("a")?.getAttribute("href");
      if (address === (location.hash || "#/") && !event.defaultPrevented) onHashChange();
    };
    window.addEventListener("hashchange", onHashChange);
    window.addEventListener("click", onClick);
    return () => {
      window.removeEventListener("hashchange", onHashChange);
      window.removeEventListener("click", onClick);
    };
  }, []);
  return route;
}

/** Ctrl-K or Cmd-K opens and closes the palette. @param {boolean} isSignedIn @returns {[boolean, (isOpen: boolean) => void]} */
function usePalette(isSignedIn) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      const hasOther = document.querySelector("dialog:modal:not(.shell-palette)");
      if (isSignedIn && !hasOther) setOpen((isOpen) => !isOpen);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [isSignedIn]);
  return [isOpen && isSignedIn, setOpen];
}

/** Focuses the search field of the view, or the question box, which may be in another view. @param {HTMLElement | null} main */
function focusField(main) {
  const fields = /** @type {HTMLInputElement[]} */ ([...(main?.querySelectorAll(FIELDS) ?? [])]);
  const field = fields.find((field) => field.getClientRects().length);
  if (field) field.focus();
  else go("/");
}

/** The number of pending approvals, kept up to date by the feed. */
function usePendingCount() {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const isPending = new Map(); // by approval id, since the last "hello", which counted all before
    const unsubscribe = [
      feed.on("hello", ({ pending }) => {
        isPending.clear();
        setCount(pending || 0);
      }),
      feed.on("approval", ({ approval_id: id, state, changed }) => {
        if (changed === "assignee") return;
        const was = isPending.get(id) ?? state !== "pending"; // the first event of an approval always changes the count
        const is = state === "pending";
        isPending.set(id, is);
        if (is !== was) setCount((count) => Math.max(0, count + (is ? 1 : -1)));
      }),
    ];
    return () => unsubscribe.forEach((off) => off());
  }, []);
  return count;
}

function Page() {
  useLanguage();
  const session = useSession(initialToken);
  const route = useRoute();
  const pending = usePendingCount();
  const isLost = useConnectionLost();
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const lastView = useRef(route.view);
  const [isPaletteOpen, setPaletteOpen] = usePalette(session.state === "in");
  useKeys({ "/": () => session.state === "in" && focusField(main.current) });

  useEffect(() => {
    const count = pending > 0 && session.me && session.me.role !== "asker" ? `(${pending}) ` : "";
    document.title = `${count}${t(`shell.${route.view}`)} · ${t("shell.name")}`;
  });
  useEffect(() => {
    if (lastView.current === route.view) return;
    lastView.current = route.view;
    window.scrollTo(0, 0);
    if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true }); // unless the view took it
  }, [route.view]);

  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    main.current?.focus();
  };
  if (session.state === "starting") return null;
  if (session.state === "offline") return html`<${Unreachable} problem=${session.problem} onRetry=${() => session.start(initialToken)} />`;
  if (session.state === "out") return html`<${SignIn} problem=${session.problem} onSignedIn=${session.enter} />`;
  return html`
    <div class="shell" inert=${session.state === "expired"}>
      <a class="shell-skip" href="#main" onClick=${skip}>${t("shell.skip")}</a>
      <${Navigation} me=${session.me} view=${route.view} path=${route.path} pending=${pending}
        onPalette=${() => setPaletteOpen(true)} onSignOut=${session.leave} />
      <main id="main" class="shell-main" tabindex="-1" ref=${main}>
        <div class="shell-lost" role="status">${isLost && html`<p class="notice warn"><span class="spinner"></span> ${t("shell.lost")}</p>`}</div>
        ${session.problem && html`<p class="shell-problem notice bad" role="alert"><${Icon} name="warn" /> ${session.problem}</p>`}
        <${View} key=${route.view} me=${session.me} route=${route} />
      </main>
    </div>
    ${isPaletteOpen && session.me && html`<${Palette} me=${session.me} onClose=${() => setPaletteOpen(false)} />`}
    ${session.state === "expired" && html`<${SignIn} isExpired onSignedIn=${session.enter} />`}`;
}

/** @param {{ problem: string, onRetry: () => void }} props */
function Unreachable({ problem, onRetry }) {
  return html`<div class="shell-sign-in-page" role="main"><div class="card stack shell-sign-in"><h1>${t("shell.name")}</h1>
    <p class="notice warn" role="alert"><${Icon} name="warn" /> ${problem}</p>
    <button type="button" class="primary" onClick=${onRetry}>${t("shell.tryAgain")}</button></div></div>`;
}

render(html`<${Page} />`, /** @type {HTMLElement} */ (document.getElementById("page")));
