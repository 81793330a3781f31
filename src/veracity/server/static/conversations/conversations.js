// The user's conversations by day: search, open, pin, rename, export, delete; and single questions outside of them.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { RunVerdict } from "../answer/verdict.js";
import { ConfirmDialog, ErrorNotice, isComposing, withValue } from "../lib/components.js";
import { feed, useLoaded } from "../lib/feed.js";
import { asApiError, del, get, patch } from "../lib/http.js";
import { ago, day, dateTime, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { conversationLink, runLink } from "../lib/routes.js";
import { printable } from "../lib/text.js";
import { ExportDialog, RenameDialog } from "./dialogs.js";
/** @import { ConversationSummary, Me, RunSummary } from "../lib/types.d.ts" */

const SEARCH_DELAY = 250; // milliseconds after the last key press
const PAGE_SIZE = 50;
const MAX_CONVERSATIONS = 500;
const RECENT_RUNS = 50;

/** @param {{ me: Me }} props */
export function Conversations({ me }) {
  const search = useSearch();
  const [limit, setLimit] = useState(PAGE_SIZE);
  const parameters = new URLSearchParams({ query: search.query, limit: String(limit) }).toString();
  const load = () => /** @type {Promise<ConversationSummary[]>} */ (get(`/api/conversations?${parameters}`));
  const { value: conversations, error, reload } = useLoaded(load, [parameters]);
  const [toDelete, setToDelete] = useState(/** @type {ConversationSummary | null} */ (null));
  const [toRename, setToRename] = useState(/** @type {ConversationSummary | null} */ (null));
  const [toExport, setToExport] = useState(/** @type {ConversationSummary | null} */ (null));
  const [problem, setProblem] = useState("");
  const [deleted, setDeleted] = useState(/** @type {ConversationSummary | null} */ (null));
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const onDeleted = () => {
    setDeleted(toDelete);
    setToDelete(null);
    reload();
    feed.announce("conversations");
  };
  const onChanged = () => {
    setToRename(null);
    reload();
    feed.announce("conversations");
  };
  const pin = (/** @type {ConversationSummary} */ { conversation, pinned }) => {
    setProblem("");
    patch(conversationPath(conversation), { pinned: !pinned }).then(onChanged, (thrown) => setProblem(asApiError(thrown).message));
  };
  useEffect(() => { if (deleted) heading.current?.focus({ preventScroll: true }); }, [deleted]); // its row disappears
  useEffect(() => { setDeleted(null); }, [search.query]);
  return html`
    <div class="view conversations">
      <div class="view-head"><h1 tabindex="-1" ref=${heading}>${t("shell.conversations")}</h1>
        <a class="button" href="#/"><${Icon} name="plus" />${t("conversations.new")}</a></div>
      <${SearchBox} search=${search} />
      <p role="status" class="conversations-message small muted">
        ${deleted ? t("conversations.deleted", { title: titleOf(deleted) })
          : search.query && conversations ? t("conversations.found", { n: conversations.length }) : ""}</p>
      ${error ? html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`
        : !conversations ? html`<p class="muted">${t("shell.loading")}</p>`
        : html`${problem && html`<p class="notice bad" role="alert">${problem}</p>`}
          <${List} threshold=${me.threshold} conversations=${conversations} query=${search.query} onPin=${pin} onRename=${setToRename} onExport=${setToExport} onDelete=${setToDelete} />`}
      ${conversations?.length === limit && limit < MAX_CONVERSATIONS && html`
        <p class="conversations-more"><button type="button" onClick=${() => setLimit(Math.min(MAX_CONVERSATIONS, limit * 2))}>
          ${t("conversations.more")}</button></p>`}
      ${!search.query && html`<${RecentRuns} threshold=${me.threshold} />`}
      ${toRename && html`<${RenameDialog} conversation=${toRename} onRenamed=${onChanged} onClose=${() => setToRename(null)} />`}
      ${toExport && html`<${ExportDialog} conversation=${toExport.conversation} title=${titleOf(toExport)} onClose=${() => setToExport(null)} />`}
      ${toDelete && html`<${DeleteDialog} conversation=${toDelete} onDeleted=${onDeleted} onClose=${() => setToDelete(null)} />`}
    </div>`;
}

/** @param {string} conversation */
const conversationPath = (conversation) => `/api/conversations/${encodeURIComponent(conversation)}`;

/** @param {ConversationSummary} conversation */
function titleOf({ title }) {
  return printable(title) || t("conversations.untitled");
}

/** `query` follows `text` after a pause, and waits for the end of an input method's composition. */
export function useSearch() {
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [isComposing, setComposing] = useState(false);
  useEffect(() => {
    if (isComposing) return undefined;
    const timer = setTimeout(() => setQuery(text.trim()), text ? SEARCH_DELAY : 0);
    return () => clearTimeout(timer);
  }, [text, isComposing]);
  return { text, setText, query, setComposing };
}

/** @param {{ search: ReturnType<typeof useSearch> }} props */
function SearchBox({ search }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const clear = () => {
    search.setText("");
    field.current?.focus();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape" && !isComposing(event) && search.text) clear();
  };
  return html`
    <form class="conversations-search" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <${Icon} name="search" />
      <input ref=${field} type="text" enterkeyhint="search" autocomplete="off" spellcheck=${false} maxlength="200" value=${search.text}
        aria-label=${t("conversations.search")} placeholder=${t("conversations.search")} onKeyDown=${onKeyDown}
        onInput=${withValue(search.setText)}
        onCompositionStart=${() => search.setComposing(true)} onCompositionEnd=${() => search.setComposing(false)} />
      ${search.text && html`<button type="button" class="quiet icon" aria-label=${t("conversations.clear")} onClick=${clear}>
        <${Icon} name="close" /></button>`}
    </form>`;
}

/**
 * @typedef {(conversation: ConversationSummary) => void} Action
 * @typedef {{ threshold: number, onPin: Action, onRename: Action, onExport: Action, onDelete: Action }} Shared
 */

/** Pinned ones, then the others by day. @param {Shared & { conversations: ConversationSummary[], query: string }} props */
function List({ conversations, query, ...shared }) {
  if (!conversations.length && query) return html`<p class="empty">${t("conversations.nothing", { query: printable(query) })}</p>`;
  if (!conversations.length) {
    return html`<div class="empty"><${Icon} name="conversations" size=${28} /><h2>${t("conversations.none.title")}</h2>
      <p>${t("conversations.none.text")}</p></div>`;
  }
  /** @type {Map<string, ConversationSummary[]>} */
  const groups = new Map();
  for (const conversation of conversations) {
    const name = conversation.pinned ? t("conversations.pinned") : day(conversation.last);
    groups.set(name, [...groups.get(name) ?? [], conversation]);
  }
  return html`<div role="group" aria-label=${t("conversations.list")}>${[...groups].map(([name, members]) => html`<section key=${name}>
    <h2 class="conversations-day small muted">${name}</h2>
    <ul class="conversations-list" aria-label=${name}>${members.map((conversation) => html`
      <${Row} key=${conversation.conversation} conversation=${conversation} ...${shared} />`)}</ul></section>`)}</div>`;
}

/** @param {Shared & { conversation: ConversationSummary }} props */
function Row({ conversation, threshold, onPin, onRename, onExport, onDelete }) {
  const { conversation: id, status = "answered", examined, turns, last, pinned } = conversation;
  const isOfLast = turns > 1 && status !== "awaiting_approval";
  /** @type {[string, string, Action][]} */
  const buttons = [[pinned ? "unpin" : "pin", "pin", onPin], ["rename", "edit", onRename], ["export", "download", onExport], ["delete", "trash", onDelete]];
  return html`<li data-pinned=${Boolean(pinned)}>
    <a href=${conversationLink(id)}>
      <span class="conversations-title">${titleOf(conversation)}</span>
      <span class="small conversations-verdict">${isOfLast && html`<span class="muted">${t("conversations.lastAnswer")}</span>`}
        <${RunVerdict} status=${status} examined=${examined} threshold=${threshold} /></span>
      <span class="small muted">
        ${t("conversations.turns", { n: turns })} ·${" "}
        <time datetime=${last} title=${dateTime(last)}>${t("conversations.last", { when: ago(last) })}</time></span>
    </a>
    <span class="conversations-actions">${buttons.map(([name, icon, action]) => html`<button type="button" class="quiet icon" data-action=${name}
      title=${t(`conversations.${name}`)} aria-label=${t(`conversations.${name}.name`, { title: titleOf(conversation) })}
      onClick=${() => action(conversation)}><${Icon} name=${icon} /></button>`)}</span>
  </li>`;
}

/** @param {{ conversation: ConversationSummary, onDeleted: () => void, onClose: () => void }} props */
function DeleteDialog({ conversation, onDeleted, onClose }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const confirm = async () => {
    setBusy(true);
    setProblem("");
    try {
      await del(conversationPath(conversation.conversation));
      onDeleted();
    } catch (thrown) {
      const error = asApiError(thrown);
      if (error.status === 404) return onDeleted();
      setProblem(error.message);
      setBusy(false);
    }
    return undefined;
  };
  return html`<${ConfirmDialog} title=${t("conversations.delete.ask")} problem=${problem} isDanger isBusy=${isBusy} isCommitted=${isBusy}
    cancel=${t("conversations.delete.cancel")} action=${t(isBusy ? "conversations.deleting" : "conversations.delete.confirm")}
    onAction=${confirm} onClose=${onClose}>
    <p class="dialog-named">${titleOf(conversation)}</p>
    <p>${t("conversations.delete.text", { n: conversation.turns })}</p>
  <//>`;
}

/** Questions outside of conversations. @param {{ threshold: number }} props */
function RecentRuns({ threshold }) {
  const load = async () => /** @type {RunSummary[]} */ (await get(`/api/runs?limit=${RECENT_RUNS}`)).filter(({ conversation }) => !conversation);
  const { value: runs } = useLoaded(load, []);
  if (!runs?.length) return null;
  return html`
    <section class="conversations-recent" aria-labelledby="conversations-recent">
      <h2 id="conversations-recent">${t("conversations.recent")}</h2>
      <p class="muted small">${t("conversations.recent.text")}</p>
      <ul class="conversations-list">${runs.map((run) => html`
        <li key=${run.run_id}><a href=${runLink(run.run_id)}>
          <span class="conversations-title">${printable(run.question) || t("conversations.untitled")}</span>
          <span class="small conversations-verdict"><${RunVerdict} status=${run.status} examined=${run.examined} threshold=${threshold} />
            <time class="muted" datetime=${run.started} title=${dateTime(run.started)}>${ago(run.started)}</time></span>
        </a></li>`)}</ul>
    </section>`;
}
