// The documents view. Everybody may list and search documents; admins add, remove and reindex them.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { Source } from "../answer/source.js";
import { ErrorNotice, Loading } from "../lib/components.js";
import { useDocumentEvents, useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { number, t, useLanguage } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { replaceRoute } from "../lib/routes.js";
import { printable } from "../lib/text.js";
import { ChangeStatus, useChange } from "./changes.js";
import { RemoveDialog } from "./remove-dialog.js";
import { useFileDrop } from "./file-drop.js";
import { DocumentList } from "./list.js";
import { DocumentReader } from "./reader.js";
import { ReindexDialog, useReindex } from "./reindex.js";
import { DocumentSearch } from "./search.js";
import { addFiles, MAX_FILES, useUploads } from "./upload-queue.js";
import { isOf, UploadStatus } from "./upload-status.js";
/** @import { Citation, Evidence, KnownDocument, Me, Route } from "../lib/types.d.ts" */

/**
 * What is open next to or above the list.
 * @typedef {{ reading?: KnownDocument, removing?: KnownDocument, removed?: KnownDocument, source?: { citation: Citation, evidence: Evidence }, isReindexing?: boolean }} Open
 */

const TABS = ["list", "search"];
const RELOAD_DELAY = 400; // milliseconds; a burst of changes reloads the list once

/** `#/documents/ID` opens a document. @param {{ me: Me, route: Route }} props */
export function Documents({ me, route }) {
  useLanguage();
  const isAdmin = me.role === "admin";
  const limit = me.limits?.upload_megabytes;
  const { value: documents, error, reload } = useLoaded(() => /** @type {Promise<KnownDocument[]>} */ (get("/api/documents")), []);
  useDocumentEvents(reload, RELOAD_DELAY);
  const [open, setOpen] = useState(/** @type {Open} */ ({}));
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const [message, setMessage] = useState("");
  const reindex = useReindex();
  const change = useChange();
  const uploads = useUploads();
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const choose = () => input.current?.click();
  const close = () => {
    setOpen({});
    if (route.id) replaceRoute("/documents");
  };
  const add = (/** @type {File[]} */ files) => {
    const isTooMany = files.length > MAX_FILES;
    setMessage(isTooMany ? t("documents.upload_too_many", { count: number(MAX_FILES) }) : files.length ? "" : t("documents.upload_empty_drop"));
    if (files.length && !isTooMany) addFiles(files, limit);
  };
  const onRemoved = (/** @type {KnownDocument} */ removed) => {
    setOpen({ removed });
    setMessage(t("documents.removed", { title: printable(removed.title || removed.id) }));
    reload();
  };
  const isDragging = useFileDrop(isAdmin ? add : null);
  useEffect(() => { if (open.removed) heading.current?.focus({ preventScroll: true }); }, [open]); // its row disappears
  useEffect(() => {
    const reading = route.id && documents?.find(({ id }) => id === route.id);
    if (reading) setOpen({ reading });
    else if (route.id && documents) setMessage(t("documents.missing"));
  }, [route.id, !documents]);
  const hasDocuments = Boolean(documents?.length);

  return html`<div class="view documents ${open.source ? "documents-with-source" : ""}">
    <div>
      <${Head} heading=${heading} documents=${documents} limit=${limit} onChoose=${isAdmin && choose} isReindexing=${reindex.isBusy}
        onReindex=${isAdmin && hasDocuments && (() => setOpen({ isReindexing: true }))} />
      ${isAdmin && html`<${FileInput} input=${input} onFiles=${add} />`}
      <p class="documents-message" role="status">${message}</p>
      <${ChangeStatus} change=${change} me=${me} isOwn=${isOf(change, uploads)} />
      ${isAdmin && html`<${UploadStatus} change=${change} />`}
      ${reindex.status}
      ${error && html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`}
      ${!documents && !error && html`<${Loading} text=${t("documents.loading")} />`}
      ${documents && !hasDocuments && html`<${Empty} limit=${limit} onChoose=${isAdmin && choose} />`}
      ${hasDocuments && html`<${Panels} documents=${documents} isAdmin=${isAdmin} setOpen=${setOpen} />`}
    </div>
    ${open.source && html`<${Source} citation=${open.source.citation} passage=${open.source.evidence} onClose=${close} />`}
    ${open.reading && html`<${DocumentReader} document=${open.reading} onClose=${close} />`}
    ${open.removing && html`<${RemoveDialog} document=${open.removing} change=${change} me=${me} onRemoved=${onRemoved} onClose=${close} />`}
    ${open.isReindexing && html`<${ReindexDialog} onStart=${reindex.start} onClose=${close} />`}
    ${isDragging && html`<div class="documents-drop" aria-hidden="true">
      <p><${Icon} name="upload" size=${28} />${t("documents.drop_here")}</p></div>`}
  </div>`;
}

/**
 * The list and the search. Both stay mounted, so that they keep their state.
 * @param {{ documents: KnownDocument[], isAdmin: boolean, setOpen: (open: Open) => void }} props
 */
function Panels({ documents, isAdmin, setOpen }) {
  const [tab, setTab] = useState("list");
  const change = (/** @type {string} */ name) => {
    setTab(name);
    setOpen({});
  };
  return html`<${Tabs} tab=${tab} onTab=${change} />
    <div role="tabpanel" id="documents-panel-list" aria-labelledby="documents-tab-list" hidden=${tab !== "list"}>
      <${DocumentList} documents=${documents} onOpen=${(/** @type {KnownDocument} */ reading) => setOpen({ reading })}
        onRemove=${isAdmin && ((/** @type {KnownDocument} */ removing) => setOpen({ removing }))} />
    </div>
    <div role="tabpanel" id="documents-panel-search" aria-labelledby="documents-tab-search" hidden=${tab !== "search"}>
      <${DocumentSearch} onOpen=${(/** @type {Evidence} */ evidence, /** @type {number} */ place) =>
        setOpen({ source: { citation: citePassage(evidence, place), evidence } })} />
    </div>`;
}

/** @param {{ heading: { current: HTMLElement | null }, documents: KnownDocument[] | null, limit: number, onChoose: false | (() => void), isReindexing: boolean, onReindex: false | (() => void) }} props */
function Head({ heading, documents, limit, onChoose, isReindexing, onReindex }) {
  return html`<header class="view-head">
    <div class="documents-heading">
      <h1 tabindex="-1" ref=${heading}>${t("shell.documents")}</h1>
      ${documents && documents.length > 0 && html`<p class="muted small">${describeCounts(documents)}
        ${onChoose && html`<span class="documents-hint"> · ${dropHint(limit)}</span>`}</p>`}
    </div>
    ${onReindex && html`<button disabled=${isReindexing} onClick=${onReindex}>
      <${Icon} name="again" />${t("documents.reindex")}</button>`}
    ${onChoose && html`<button class="primary" onClick=${onChoose}><${Icon} name="plus" />${t("documents.add")}</button>`}
  </header>`;
}

/** @param {{ input: { current: HTMLInputElement | null }, onFiles: (files: File[]) => void }} props */
function FileInput({ input, onFiles }) {
  const onChange = () => {
    const field = /** @type {HTMLInputElement} */ (input.current);
    onFiles([...(field.files ?? [])]);
    field.value = ""; // so that the same file can be chosen again
  };
  return html`<input ref=${input} type="file" multiple hidden aria-label=${t("documents.add")} onChange=${onChange} />`;
}

/** @param {KnownDocument[]} documents */
function describeCounts(documents) {
  const passages = documents.reduce((total, document) => total + document.passages, 0);
  const count = (/** @type {string} */ key, /** @type {number} */ n) => t(key, { n, count: number(n) });
  return count("documents.count", documents.length) + t("documents.and") + count("documents.passages", passages);
}

/** Nothing is dropped on a touch screen. @param {number} limit */
function dropHint(limit) {
  const megabytes = number(limit || 100);
  return html`<span class="documents-for-mouse">${t("documents.drop_hint", { megabytes })}</span>
    <span class="documents-for-touch">${t("documents.size_hint", { megabytes })}</span>`;
}

/** A click anywhere in the dashed area chooses files, like its button. @param {{ limit: number, onChoose: false | (() => void) }} props */
function Empty({ limit, onChoose }) {
  return html`<div class="documents-empty ${onChoose ? "documents-target" : ""}" onClick=${onChoose || undefined}>
    <${Icon} name=${onChoose ? "upload" : "documents"} size=${32} />
    <h2>${t("documents.empty_title")}</h2>
    <p>${t(onChoose ? "documents.empty_admin" : "documents.empty_reader")}</p>
    ${onChoose && html`<button type="button">${t("documents.choose")}</button><p class="small">${dropHint(limit)}</p>`}
  </div>`;
}

/** @param {{ tab: string, onTab: (tab: string) => void }} props */
function Tabs({ tab, onTab }) {
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = TABS[1 - TABS.indexOf(tab)];
    onTab(other);
    document.getElementById(`documents-tab-${other}`)?.focus();
  };
  return html`<div class="documents-tabs" role="tablist" aria-label=${t("shell.documents")} onKeyDown=${onKeyDown}>
    ${TABS.map((name) => html`<button key=${name} role="tab" id="documents-tab-${name}" aria-selected=${String(tab === name)}
      aria-controls="documents-panel-${name}" tabindex=${tab === name ? 0 : -1} onClick=${() => onTab(name)}>
      ${t(`documents.tab_${name}`)}</button>`)}
  </div>`;
}

/**
 * A citation whose quote is the whole passage, for the source panel.
 * @param {Evidence} evidence
 * @param {number} place
 * @returns {Citation}
 */
function citePassage({ id, document_id, text, start, end }, place) {
  return { number: place, evidence_id: id, document_id, quote: text, start, end };
}
