// The frame around every view: where one can go, who one is, and how the page looks and speaks.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { LANGUAGES, language, setLanguage, t } from "./i18n.js";
import { Icon, LOGO } from "./icons.js";

const PLACES = [["ask", "#/"], ["inbox", "#/inbox"], ["conversations", "#/conversations"], ["documents", "#/documents"], ["evaluator", "#/evaluator"]];
const THEMES = { auto: "screen", light: "sun", dark: "moon" };

export function Navigation({ me, view, pending, onSignOut }) {
  return html`<header class="shell-head">
    <a class="shell-brand" href="#/"><img src=${LOGO} alt="" width="26" height="26" /><span>${t("shell.name")}</span></a>
    <nav class="shell-nav" aria-label=${t("shell.navigation")}>
      <ul>${PLACES.map(([name, address]) => html`<li><${Place} name=${name} address=${address} isHere=${name === view}
        pending=${name === "inbox" ? pending : 0} /></li>`)}</ul>
    </nav>
    <${Preferences} me=${me} onSignOut=${onSignOut} />
  </header>`;
}

function Place({ name, address, isHere, pending }) {
  return html`<a href=${address} aria-current=${isHere ? "page" : null}>
    <${Icon} name=${name} size=${20} /><span class="shell-place">${t(`shell.${name}`)}</span>
    <span class="shell-place shell-short">${t(`shell.${name}.short`)}</span>
    ${pending > 0 && html`<span class="shell-count number"><span aria-hidden="true">${pending > 99 ? "99+" : pending}</span>
      <span class="visually-hidden">${t("shell.pending", { n: pending })}</span></span>`}
  </a>`;
}

// On a wide screen it stands open at the foot of the side bar; on a narrow one a button opens it.
function Preferences({ me, onSignOut }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const outside = (event) => { if (!root.current.contains(event.target)) setOpen(false); };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const onKey = (event) => {
    if (event.key !== "Escape" || !isOpen) return;
    setOpen(false);
    root.current.querySelector("button").focus();
  };
  return html`<div class="shell-preferences" ref=${root} onKeyDown=${onKey}>
    <button type="button" class="quiet icon shell-more" aria-expanded=${isOpen} aria-controls="preferences"
      aria-label=${t("shell.preferences")} onClick=${() => setOpen(!isOpen)}><${Icon} name="sliders" size=${20} /></button>
    <div id="preferences" class="shell-panel" data-open=${isOpen}>
      <${LanguageChoice} /><${ThemeChoice} />
      ${me && html`<div class="shell-me"><${Icon} name="person" />
        <span class="shell-who"><strong class="clip">${me.user}</strong><span class="small muted">${t(`shell.role.${me.role}`)}</span></span>
        <button type="button" class="quiet small" onClick=${onSignOut}>${t("shell.signOut")}</button></div>`}
    </div>
  </div>`;
}

export function LanguageChoice() {
  return html`<label class="shell-choice"><${Icon} name="globe" /><span class="visually-hidden">${t("shell.language")}</span>
    <select value=${language()} onChange=${(event) => setLanguage(event.target.value)}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option value=${code} selected=${code === language()} lang=${code}>${name}</option>`)}
    </select></label>`;
}

export function ThemeChoice() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme || "auto");
  const choose = (event) => {
    setTheme(event.target.value);
    window.showTheme(event.target.value);
    rememberTheme(event.target.value);
  };
  return html`<label class="shell-choice"><${Icon} name=${THEMES[theme]} /><span class="visually-hidden">${t("shell.theme")}</span>
    <select value=${theme} onChange=${choose}>
      ${Object.keys(THEMES).map((name) => html`<option value=${name} selected=${name === theme}>${t(`shell.theme.${name}`)}</option>`)}
    </select></label>`;
}

// theme.js reads it back before the next first paint.
function rememberTheme(theme) {
  try { localStorage.setItem("veracity.theme", theme); } catch { /* then it holds for this visit only */ }
}
