// The documents page: what answers are drawn from. Everybody may look and search; an admin adds, removes and reindexes.
import { html, useCallback, useEffect, useRef, useState } from "./vendor/preact.js";
import { feed, get } from "./api.js";
import { number, t, useLanguage } from "./i18n.js";
import { Icon } from "./icons.js";
import { UnderWay, useChanges } from "./documents-changes.js";
import { useFileDrop } from "./documents-drop.js";
import { RemoveDialog, ReindexDialog, useReindexing } from "./documents-dialogs.js";
import { DocumentList } from "./documents-list.js";
import { DocumentReader } from "./documents-reader.js";
import { DocumentSearch } from "./documents-search.js";
import { Uploading } from "./documents-uploading.js";
import { addFiles } from "./documents-uploads.js";
import { Source } from "./source.js";
import { visible } from "./visible.js";

const TABS = ["list", "search"];
const CALM = 400; // milliseconds: many documents at once are one change of the list

export function Documents({ me }) {
  useLanguage();
  const isAdmin = me.role === "admin";
  const limit = me.limits?.upload_megabytes;
  const { documents, problem, reload } = useDocuments();
  const [open, setOpen] = useState({}); // {reading}, {removing}, {removed}, {source, evidence}, {reindexing} or nothing
  const heading = useRef(null);
  const [said, setSaid] = useState("");
  const reindexing = useReindexing();
  const change = useChanges();
  const close = () => setOpen({});
  const add = (files) => {
    setSaid(files.length ? "" : t("documents.upload_empty_drop"));
    if (files.length) addFiles(files, limit);
  };
  const onRemoved = (one) => {
    setOpen({ removed: one });
    setSaid(t("documents.removed", { title: visible(one.title || one.id) }));
    reload();
  };
  const isOver = useFileDrop(isAdmin ? add : null);
  useEffect(() => { if (open.removed) heading.current.focus({ preventScroll: true }); }, [open]); // its row goes

  return html`<div class="view documents ${open.source ? "documents-with-source" : ""}">
    <div>
      <${Head} heading=${heading} documents=${documents} limit=${limit} onFiles=${isAdmin && add} isReindexing=${reindexing.busy}
        onReindex=${isAdmin && documents?.length > 0 && (() => setOpen({ reindexing: true }))} />
      <p class="documents-said" role="status">${said}</p>
      <${UnderWay} change=${change} me=${me} />
      <${Uploading} />
      ${reindexing.shown}
      ${problem && html`<div class="notice bad" role="alert"><span>${problem}</span>
        <button class="small" onClick=${reload}>${t("documents.again")}</button></div>`}
      ${!documents && !problem && html`<p class="row muted"><span class="spinner"></span>${t("documents.loading")}</p>`}
      ${documents?.length === 0 && html`<${Empty} isAdmin=${isAdmin} limit=${limit} />`}
      ${documents?.length > 0 && html`<${Shelves} documents=${documents} isAdmin=${isAdmin} setOpen=${setOpen} />`}
    </div>
    ${open.source && html`<${Source} citation=${open.source} evidence=${open.evidence} onClose=${close} />`}
    ${open.reading && html`<${DocumentReader} document=${open.reading} onClose=${close} />`}
    ${open.removing && html`<${RemoveDialog} document=${open.removing} change=${change} onRemoved=${onRemoved} onClose=${close} />`}
    ${open.reindexing && html`<${ReindexDialog} onStart=${reindexing.start} onClose=${close} />`}
    ${isOver && html`<div class="documents-drop" aria-hidden="true">
      <p><${Icon} name="upload" size=${28} />${t("documents.drop_here")}</p></div>`}
  </div>`;
}

// The list and the search. Both stay as they were left when one looks at the other.
function Shelves({ documents, isAdmin, setOpen }) {
  const [tab, setTab] = useState("list");
  const change = (name) => {
    setTab(name);
    setOpen({});
  };
  return html`<${Tabs} tab=${tab} onTab=${change} />
    <div role="tabpanel" id="documents-panel-list" aria-labelledby="documents-tab-list" hidden=${tab !== "list"}>
      <${DocumentList} documents=${documents} onOpen=${(reading) => setOpen({ reading })}
        onRemove=${isAdmin && ((removing) => setOpen({ removing }))} />
    </div>
    <div role="tabpanel" id="documents-panel-search" aria-labelledby="documents-tab-search" hidden=${tab !== "search"}>
      <${DocumentSearch} onOpen=${(evidence, place) => setOpen({ source: asCitation(evidence, place), evidence })} />
    </div>`;
}

function useDocuments() {
  const [standing, setStanding] = useState({ documents: null, problem: "" });
  const reload = useCallback(async () => {
    try {
      setStanding({ documents: await get("/api/documents"), problem: "" });
    } catch (problem) {
      setStanding((before) => ({ ...before, problem: problem.message }));
    }
  }, []);
  useEffect(() => {
    let timer = 0;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(reload, CALM);
    };
    reload();
    const offs = ["documents", "hello"].map((kind) => feed.on(kind, later)); // "hello": something may have been missed
    return () => {
      clearTimeout(timer);
      offs.forEach((off) => off());
    };
  }, [reload]);
  return { ...standing, reload };
}

function Head({ heading, documents, limit, onFiles, isReindexing, onReindex }) {
  const input = useRef(null);
  const chosen = (event) => {
    onFiles([...event.target.files]);
    event.target.value = ""; // the same file again is a choice too
  };
  return html`<header class="view-head">
    <div class="documents-heading">
      <h1 tabindex="-1" ref=${heading}>${t("shell.documents")}</h1>
      ${documents?.length > 0 && html`<p class="muted small">${counted(documents)}
        ${onFiles && html`<span class="documents-hint"> · ${dropHint(limit)}</span>`}</p>`}
    </div>
    ${onReindex && html`<button disabled=${isReindexing} onClick=${onReindex}>
      <${Icon} name="again" />${t("documents.reindex")}</button>`}
    ${onFiles && html`<button class="primary" onClick=${() => input.current.click()}>
        <${Icon} name="plus" />${t("documents.add")}</button>
      <input ref=${input} type="file" multiple hidden aria-label=${t("documents.add")} onChange=${chosen} />`}
  </header>`;
}

function counted(documents) {
  const passages = documents.reduce((total, one) => total + one.passages, 0);
  const told = (key, n) => t(key, { n, count: number(n) });
  return told("documents.count", documents.length) + t("documents.and") + told("documents.passages", passages);
}

function dropHint(limit) {
  return t("documents.drop_hint", { megabytes: number(limit || 100) });
}

function Empty({ isAdmin, limit }) {
  return html`<div class="documents-empty ${isAdmin ? "documents-target" : ""}">
    <${Icon} name=${isAdmin ? "upload" : "documents"} size=${32} />
    <h2>${t("documents.empty_title")}</h2>
    <p>${t(isAdmin ? "documents.empty_admin" : "documents.empty_reader")}</p>
    ${isAdmin && html`<p class="small">${dropHint(limit)}</p>`}
  </div>`;
}

function Tabs({ tab, onTab }) {
  const move = (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const next = TABS.find((name) => name !== tab);
    onTab(next);
    document.getElementById(`documents-tab-${next}`).focus();
  };
  return html`<div class="documents-tabs" role="tablist" aria-label=${t("shell.documents")} onKeyDown=${move}>
    ${TABS.map((name) => html`<button key=${name} role="tab" id="documents-tab-${name}" aria-selected=${String(tab === name)}
      aria-controls="documents-panel-${name}" tabindex=${tab === name ? 0 : -1} onClick=${() => onTab(name)}>
      ${t(`documents.tab_${name}`)}</button>`)}
  </div>`;
}

// A passage that was found, as the panel of sources takes what is cited: all of the passage is the quote.
function asCitation(evidence, place) {
  const { id, document_id: document, text: quote, start, end } = evidence;
  return { number: place, evidence_id: id, document_id: document, quote, start, end };
}
