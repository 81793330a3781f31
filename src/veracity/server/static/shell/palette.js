// The command palette (Ctrl-K): views, conversations, documents and preferences by name, chosen with the keyboard.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/preact.js";
import { isComposing, useModal, withValue } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { LANGUAGES, language, setLanguage, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { conversationLink, documentLink, readRoute, go, replaceRoute } from "../lib/routes.js";
import { fold, printable } from "../lib/text.js";
import { linksFor, setTheme, THEMES } from "./navigation.js";
/** @import { ConversationSummary, KnownDocument, Me } from "../lib/types.d.ts" */

/** @typedef {{ id: string, icon: string, label: string, kind: string, isHidden?: boolean, act: () => void }} Item `isHidden`: until something is typed */

const MAX_ITEMS = 40; // shown at once
const MAX_CONVERSATIONS = 100;
const RECENT = 5; // conversations that are listed before something is typed

/** A link to the current address starts its view anew. @param {string} address */
function open(address) {
  const path = address.slice(1);
  if (readRoute().path === path) replaceRoute(path);
  else go(path);
}

/** What can be chosen, and whether more is on its way. @param {Me} me @returns {{ items: Item[], isLoading: boolean }} */
function useItems(me) {
  const { value: conversations } = useLoaded(() => /** @type {Promise<ConversationSummary[]>} */ (get(`/api/conversations?limit=${MAX_CONVERSATIONS}`)), []);
  const { value: documents } = useLoaded(() => /** @type {Promise<KnownDocument[]>} */ (get("/api/documents")), []);
  const items = useMemo(() => [
    { id: "new", icon: "plus", label: t("shell.new"), kind: "", act: () => open("#/") },
    ...linksFor(me).filter(([name]) => name !== "ask").map(([name, address]) => ({ id: name, icon: name, label: t(`shell.${name}`), kind: t("shell.palette.view"), act: () => open(address) })),
    ...(conversations ?? []).map(({ conversation, title }, place) => ({
      id: `c-${conversation}`, icon: "ask", label: printable(title) || t("conversations.untitled"), kind: t("shell.palette.conversation"),
      isHidden: place >= RECENT, act: () => open(conversationLink(conversation)),
    })),
    ...(documents ?? []).map((document) => ({
      id: `d-${document.id}`, icon: "documents", label: printable(document.title || document.id), kind: t("shell.palette.document"),
      isHidden: true, act: () => open(documentLink(document.id)),
    })),
    ...Object.entries(LANGUAGES).filter(([code]) => code !== language()).map(([code, name]) => ({ id: code, icon: "globe", label: name, kind: t("shell.language"), act: () => { setLanguage(code); } })),
    ...Object.entries(THEMES).map(([name, icon]) => ({ id: name, icon, label: t(`shell.theme.${name}`), kind: t("shell.theme"), act: () => setTheme(name) })),
  ], [conversations, documents, me]);
  return { items, isLoading: !conversations || !documents };
}

/** @param {Item[]} items @param {string} text */
function match(items, text) {
  const words = fold(text).split(/\s+/).filter(Boolean);
  const found = items.filter(({ label, kind, isHidden }) => (words.length ? words.every((word) => fold(`${label} ${kind}`).includes(word)) : !isHidden));
  return found.slice(0, MAX_ITEMS);
}

/** @param {{ me: Me, onClose: () => void }} props */
export function Palette({ me, onClose }) {
  const dialog = useModal(onClose);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const [isWanted, setWanted] = useState(false); // Enter came before the list
  const { items, isLoading } = useItems(me);
  const found = useMemo(() => match(items, text), [items, text]);
  const at = Math.min(place, found.length - 1);
  useLayoutEffect(() => { list.current?.children[at]?.scrollIntoView({ block: "nearest" }); }, [at, found]);

  const onText = (/** @type {string} */ next) => {
    setText(next);
    setPlace(0);
    setWanted(false);
  };
  const choose = (/** @type {Item | undefined} */ item) => {
    if (!item) return setWanted(isLoading);
    dialog.current?.close(); // gives the focus back before the view may take it
    item.act();
  };
  useEffect(() => { if (isWanted && found.length) choose(found[0]); }, [isWanted, found]);
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (isComposing(event)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setPlace((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") choose(found[at]);
    else return;
    event.preventDefault();
  };
  return html`<dialog ref=${dialog} class="dialog shell-palette" aria-label=${t("shell.palette")}
    onClick=${(/** @type {Event} */ event) => event.target === dialog.current && dialog.current?.close()}>
    <input type="text" role="combobox" aria-label=${t("shell.palette")} placeholder=${t("shell.palette.placeholder")} aria-expanded="true" aria-autocomplete="list"
      aria-controls="palette-list" aria-activedescendant=${at >= 0 ? `palette-${at}` : null} autocomplete="off" spellcheck=${false} value=${text}
      onInput=${withValue(onText)} onKeyDown=${onKeyDown} autofocus />
    <ul id="palette-list" role="listbox" aria-label=${t("shell.palette")} ref=${list}>${found.map((item, index) => html`
      <li key=${item.id} id=${`palette-${index}`} role="option" aria-selected=${String(index === at)} onPointerMove=${() => setPlace(index)} onClick=${() => choose(item)}>
        <${Icon} name=${item.icon} /><span class="clip">${item.label}</span><span class="small muted">${item.kind}</span></li>`)}</ul>
    <p class="small muted" role="status">${found.length ? "" : t("shell.palette.nothing")}</p>
    <p class="small muted shell-palette-keys">${t("shell.palette.keys")}</p>
  </dialog>`;
}
