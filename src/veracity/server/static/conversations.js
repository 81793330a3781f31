// The conversations of whoever is signed in: found, opened and deleted; and the questions that belong to none.

import { html, useCallback, useEffect, useRef, useState } from "./vendor/preact.js";
import { del, feed, get } from "./api.js";
import { ago, dateTime, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { Question } from "./question.js";
import { visible } from "./visible.js";

const PAUSE = 250; // milliseconds without a key, after which it is searched
const PAGE = 50;
const MOST = 500;
const RECENT = 50;

export function Conversations() {
  const search = useSearch();
  const { found, problem, limit, setLimit, load } = useFound(search.query);
  const [doomed, setDoomed] = useState(null);
  const [gone, setGone] = useState(null);
  const heading = useRef(null);
  const deleted = (one) => {
    setGone(one);
    setDoomed(null);
    load();
  };
  useEffect(() => { if (gone) heading.current.focus({ preventScroll: true }); }, [gone]); // its row goes
  useEffect(() => { setGone(null); }, [search.query]);
  return html`
    <div class="view conversations">
      <div class="view-head"><h1 tabindex="-1" ref=${heading}>${t("shell.conversations")}</h1>
        <a class="button" href="#/"><${Icon} name="plus" />${t("conversations.new")}</a></div>
      <${SearchBox} search=${search} />
      <p role="status" class="conversations-said small muted">
        ${gone ? t("conversations.deleted", { title: titleOf(gone) })
          : search.query && found ? t("conversations.found", { n: found.length }) : ""}</p>
      ${problem ? html`<div class="notice bad" role="alert"><span>${problem.message}</span>
            <button type="button" class="small" onClick=${load}>${t("conversations.retry")}</button></div>`
        : !found ? html`<p class="muted">${t("conversations.loading")}</p>`
        : html`<${List} found=${found} query=${search.query} onDelete=${setDoomed} />`}
      ${found?.length === limit && limit < MOST && html`
        <p class="conversations-more"><button type="button" onClick=${() => setLimit(Math.min(MOST, limit * 2))}>
          ${t("conversations.more")}</button></p>`}
      ${!search.query && html`<${Recent} />`}
      ${doomed && html`<${Deleting} one=${doomed} onDeleted=${deleted} onClose=${() => setDoomed(null)} />`}
    </div>`;
}

function titleOf(one) {
  return visible(one.title) || t("conversations.untitled");
}

/** `text` as it is typed, `query` once there is a pause in it. What an IME has not finished is no query yet. */
function useSearch() {
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [isComposing, setComposing] = useState(false);
  useEffect(() => {
    if (isComposing) return undefined;
    const timer = setTimeout(() => setQuery(text.trim()), text ? PAUSE : 0);
    return () => clearTimeout(timer);
  }, [text, isComposing]);
  return { text, setText, query, setComposing };
}

function useFound(query) {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  const [limit, setLimit] = useState(PAGE);
  const latest = useRef(0);
  const load = useCallback(async () => {
    const mine = (latest.current += 1); // what is answered late must not take the place of what was asked later
    try {
      const read = await get(`/api/conversations?${new URLSearchParams({ query, limit })}`);
      if (mine !== latest.current) return;
      setFound(read);
      setProblem(null);
    } catch (refused) {
      if (mine === latest.current) setProblem(refused);
    }
  }, [query, limit]);
  useEffect(() => { load(); }, [load]);
  useEffect(() => (problem ? feed.on("hello", load) : undefined), [problem, load]); // the server or the session is back
  return { found, problem, limit, setLimit, load };
}

function SearchBox({ search }) {
  const field = useRef(null);
  const clear = () => {
    search.setText("");
    field.current.focus();
  };
  const pressed = (event) => {
    if (event.key === "Escape" && !event.isComposing && event.keyCode !== 229 && search.text) clear();
  };
  return html`
    <form class="conversations-search" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Icon} name="search" />
      <input ref=${field} type="text" enterkeyhint="search" autocomplete="off" spellcheck=${false} maxlength="200" value=${search.text}
        aria-label=${t("conversations.search")} placeholder=${t("conversations.search")} onKeyDown=${pressed}
        onInput=${(event) => search.setText(event.target.value)}
        onCompositionStart=${() => search.setComposing(true)} onCompositionEnd=${() => search.setComposing(false)} />
      ${search.text && html`<button type="button" class="quiet icon" aria-label=${t("conversations.clear")} onClick=${clear}>
        <${Icon} name="close" /></button>`}
    </form>`;
}

function List({ found, query, onDelete }) {
  if (!found.length && query) return html`<p class="empty">${t("conversations.nothing", { query: visible(query) })}</p>`;
  if (!found.length) {
    return html`<div class="empty"><${Icon} name="conversations" size=${28} /><h2>${t("conversations.none.title")}</h2>
      <p>${t("conversations.none.text")}</p></div>`;
  }
  return html`<ul class="conversations-list" aria-label=${t("conversations.list")}>${found.map((one) => html`
    <li key=${one.conversation}>
      <a href=${`#/c/${encodeURIComponent(one.conversation)}`}>
        <span class="conversations-title">${titleOf(one)}</span>
        <span class="small muted">${t("conversations.turns", { n: one.turns })} ·${" "}
          <time datetime=${one.last} title=${dateTime(one.last)}>${t("conversations.last", { when: ago(one.last) })}</time></span>
      </a>
      <button type="button" class="quiet icon" title=${t("conversations.delete")}
        aria-label=${t("conversations.delete.name", { title: titleOf(one) })} onClick=${() => onDelete(one)}><${Icon} name="trash" /></button>
    </li>`)}</ul>`;
}

function Deleting({ one, onDeleted, onClose }) {
  const [state, setState] = useState("");
  const confirm = async () => {
    setState("deleting");
    try {
      await del(`/api/conversations/${encodeURIComponent(one.conversation)}`);
      onDeleted(one);
    } catch (refused) {
      if (refused.status === 404) onDeleted(one);
      else setState(refused.message);
    }
  };
  const isBusy = state === "deleting";
  return html`<${Question} title=${t("conversations.delete.ask")} problem=${isBusy ? "" : state} isDanger isBusy=${isBusy} isBound=${isBusy}
    cancel=${t("conversations.delete.cancel")} action=${t(isBusy ? "conversations.deleting" : "conversations.delete.confirm")}
    onAction=${confirm} onClose=${onClose}>
    <p class="dialog-named">${titleOf(one)}</p>
    <p>${t("conversations.delete.text", { n: one.turns })}</p>
  <//>`;
}

const TONES = { answered: "good", awaiting_approval: "warn", rejected: "bad", failed: "bad" };

function Recent() {
  const [runs, setRuns] = useState(null);
  useEffect(() => {
    let isWanted = true;
    get(`/api/runs?limit=${RECENT}`).then((read) => isWanted && setRuns(read.filter((run) => !run.conversation)), () => {});
    return () => { isWanted = false; };
  }, []);
  if (!runs?.length) return null;
  return html`
    <section class="conversations-recent" aria-labelledby="conversations-recent">
      <h2 id="conversations-recent">${t("conversations.recent")}</h2>
      <p class="muted small">${t("conversations.recent.text")}</p>
      <ul class="conversations-list">${runs.map((run) => html`
        <li key=${run.run_id}><a href=${`#/runs/${encodeURIComponent(run.run_id)}`}>
          <span class="conversations-title">${visible(run.question) || t("conversations.untitled")}</span>
          <span class="small muted row"><span class=${`badge ${TONES[run.status] ?? ""}`}>${t(`conversations.status.${run.status}`)}</span>
            <time datetime=${run.started} title=${dateTime(run.started)}>${ago(run.started)}</time></span>
        </a></li>`)}</ul>
    </section>`;
}
