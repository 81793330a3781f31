// The header of every view: links, language, theme, and the signed-in user.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { RunVerdict } from "../answer/verdict.js";
import { withValue } from "../lib/components.js";
import { feed, useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { LANGUAGES, language, setLanguage, t } from "../lib/i18n.js";
import { Icon, LOGO } from "../lib/icons.js";
import { conversationLink } from "../lib/routes.js";
import { local } from "../lib/storage.js";
import { printable } from "../lib/text.js";
/** @import { ConversationSummary, Me } from "../lib/types.d.ts" */

const LINKS = [["ask", "#/"], ["inbox", "#/inbox"], ["conversations", "#/conversations"], ["documents", "#/documents"], ["evaluator", "#/evaluator"]];
const ADMIN_LINK = ["admin", "#/admin"];
/** @type {Record<string, string>} */
const PARENTS = { experiments: "evaluator" }; // views that have no link of their own
const RECENT = 6; // conversations
const WIDE = window.matchMedia("(min-width: 761px) and (min-height: 640px)");
const PALETTE_KEY = /^(Mac|iP)/.test(navigator.platform) ? "⌘K" : "Ctrl K";
/** @type {Record<string, string>} */
export const THEMES = { auto: "screen", light: "sun", dark: "moon" };
/** @type {Set<(theme: string) => void>} */
const themeListeners = new Set();

/** The name and the address of each view that this user may see. @param {Me | null} me */
export const linksFor = (me) => (me?.role === "admin" ? [...LINKS, ADMIN_LINK] : LINKS);

/** @param {{ me: Me | null, view: string, path: string, pending: number, onPalette: () => void, onSignOut: () => void }} props */
export function Navigation({ me, view, path, pending, onPalette, onSignOut }) {
  return html`<header class="shell-head">
    <a class="shell-brand" href="#/"><img src=${LOGO} alt="" width="26" height="26" /><span>${t("shell.name")}</span></a>
    <button type="button" class="quiet shell-find" title=${t("shell.palette")} aria-keyshortcuts="Control+K Meta+K" onClick=${onPalette}>
      <${Icon} name="search" /><span>${t("shell.palette.short")}</span><kbd aria-hidden="true">${PALETTE_KEY}</kbd></button>
    <nav class="shell-nav" aria-label=${t("shell.navigation")}>
      <ul>${linksFor(me).map(([name, address]) => html`<li><${Link} name=${name} address=${address} isCurrent=${name === (PARENTS[view] ?? view)}
        pending=${name === "inbox" && me?.role !== "asker" ? pending : 0} /></li>`)}</ul>
    </nav>
    ${me && html`<${Recent} key=${me.user} path=${path} threshold=${me.threshold} />`}
    <${Preferences} me=${me} onSignOut=${onSignOut} />
  </header>`;
}

/** The latest conversations, on screens that have room for them, with what needs attention. @param {{ path: string, threshold: number }} props */
function Recent({ path, threshold }) {
  const load = () => /** @type {Promise<ConversationSummary[]>} */ (get(`/api/conversations?limit=${RECENT}`));
  const { value: conversations, reload } = useLoaded(WIDE.matches ? load : async () => [], [path]);
  useEffect(() => feed.on("conversations", reload), [reload]);
  if (!conversations?.length) return null;
  return html`<nav class="shell-recent" aria-label=${t("shell.recent")}><p class="small muted" aria-hidden="true">${t("shell.recent")}</p>
    <ul>${conversations.map(({ conversation, title, status = "answered", examined }) => html`<li key=${conversation}>
      <a href=${conversationLink(conversation)} aria-current=${path === conversationLink(conversation).slice(1) ? "page" : null}>
        <span class="clip">${printable(title) || t("conversations.untitled")}</span>
        <${RunVerdict} status=${status} examined=${examined} threshold=${threshold} isQuiet /></a></li>`)}</ul></nav>`;
}

/** @param {{ name: string, address: string, isCurrent: boolean, pending: number }} props */
function Link({ name, address, isCurrent, pending }) {
  return html`<a href=${address} aria-current=${isCurrent ? "page" : null}>
    <${Icon} name=${name} size=${20} /><span class="shell-label">${t(`shell.${name}`)}</span>
    <span class="shell-label shell-short">${t(`shell.${name}.short`)}</span>
    ${pending > 0 && html`<span class="shell-count number"><span aria-hidden="true">${pending > 99 ? "99+" : pending}</span>
      <span class="visually-hidden">${t("shell.pending", { n: pending })}</span></span>`}
  </a>`;
}

/**
 * Always visible at the foot of the side bar; behind a button on narrow screens.
 * @param {{ me: Me | null, onSignOut: () => void }} props
 */
function Preferences({ me, onSignOut }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!isOpen) return undefined;
    const closeOutside = (/** @type {Event} */ event) => {
      if (!root.current?.contains(/** @type {Node} */ (event.target))) setOpen(false);
    };
    document.addEventListener("pointerdown", closeOutside);
    return () => document.removeEventListener("pointerdown", closeOutside);
  }, [isOpen]);
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !isOpen) return;
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  return html`<div class="shell-preferences" ref=${root} onKeyDown=${onKey}>
    <button type="button" class="quiet icon shell-more" aria-expanded=${isOpen} aria-controls="preferences"
      aria-label=${t("shell.preferences")} onClick=${() => setOpen(!isOpen)}><${Icon} name="sliders" size=${20} /></button>
    <div id="preferences" class="shell-panel" data-open=${isOpen}>
      <${LanguageChoice} /><${ThemeChoice} />
      ${me && html`<div class="shell-me"><${Icon} name="person" />
        <span class="shell-user"><strong class="clip">${me.user}</strong><span class="small muted">${t(`shell.role.${me.role}`)}</span></span>
        <button type="button" class="quiet small" onClick=${onSignOut}>${t("shell.signOut")}</button></div>`}
    </div>
  </div>`;
}

/** @param {string} name */
export function setTheme(name) {
  window.boot.showTheme(name);
  local.set("veracity.theme", name); // boot.js reads it before the next first paint
  themeListeners.forEach((listener) => listener(name));
}

export function LanguageChoice() {
  return html`<label class="shell-choice"><${Icon} name="globe" /><span class="visually-hidden">${t("shell.language")}</span>
    <select value=${language()} onChange=${withValue(setLanguage)}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option value=${code} selected=${code === language()} lang=${code}>${name}</option>`)}
    </select></label>`;
}

export function ThemeChoice() {
  const [theme, setShown] = useState(document.documentElement.dataset.theme || "auto");
  useEffect(() => {
    themeListeners.add(setShown);
    return () => { themeListeners.delete(setShown); };
  }, []);
  return html`<label class="shell-choice"><${Icon} name=${THEMES[theme]} /><span class="visually-hidden">${t("shell.theme")}</span>
    <select value=${theme} onChange=${withValue(setTheme)}>
      ${Object.keys(THEMES).map((name) => html`<option value=${name} selected=${name === theme}>${t(`shell.theme.${name}`)}</option>`)}
    </select></label>`;
}
