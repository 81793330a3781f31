// Limits questions to documents and folders: chips at the question box, and the dialog to choose them.
import { html, useState } from "../lib/preact.js";
import { useSearch } from "../conversations/conversations.js";
import { useModal, withValue } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { session } from "../lib/storage.js";
import { printable } from "../lib/text.js";
/** @import { DocumentChoice } from "../lib/types.d.ts" */

const MAX_CHOSEN = 20; // the server's limit
const STORED = "veracity.only.";

/**
 * What the questions of a conversation are limited to, kept for this visit. Null until somebody chose.
 * @param {string} conversation
 * @returns {[string[] | null, (only: string[] | null) => void]}
 */
export function useOnly(conversation) {
  const [only, setOnly] = useState(() => readOnly(conversation));
  return [only, (next) => {
    setOnly(next);
    session.set(STORED + conversation, next?.length ? JSON.stringify(next) : null);
  }];
}

/** @param {string} conversation @returns {string[] | null} */
function readOnly(conversation) {
  try { return JSON.parse(session.get(STORED + conversation) ?? "null"); } catch { return null; }
}

/** The end of a path, which tells it apart. @param {string} path */
const shorten = (path) => printable(path.split(/[/\\]/).filter(Boolean).slice(-2).join("/"));

/** @param {{ only: string[], onRemove?: (path: string) => void }} props */
export function Chips({ only, onRemove }) {
  if (!only.length) return null;
  return html`<ul class="ask-chips small" aria-label=${t("ask.only")}>${only.map((path) => html`<li key=${path} class="badge" title=${printable(path)}>
    <${Icon} name="documents" size=${14} /><bdi class="clip">${shorten(path)}</bdi>
    ${onRemove && html`<button type="button" class="quiet" aria-label=${t("ask.only.remove", { name: shorten(path) })}
      onClick=${() => onRemove(path)}><${Icon} name="close" size=${14} /></button>`}</li>`)}</ul>`;
}

/** @param {{ only: string[], onChange: (only: string[]) => void }} props */
export function DocumentPicker({ only, onChange }) {
  const [isOpen, setOpen] = useState(false);
  return html`<button type="button" class="quiet small" aria-haspopup="dialog" onClick=${() => setOpen(true)}>
      <${Icon} name="documents" size=${16} /> ${t(only.length ? "ask.only.change" : "ask.only.choose")}</button>
    ${isOpen && html`<${PickerDialog} only=${only} onChange=${onChange} onClose=${() => setOpen(false)} />`}`;
}

/** @param {{ only: string[], onChange: (only: string[]) => void, onClose: () => void }} props */
function PickerDialog({ only, onChange, onClose }) {
  const dialog = useModal(onClose);
  const { query, text, setText, setComposing } = useSearch();
  const load = () => /** @type {Promise<DocumentChoice[]>} */ (get(`/api/choices?${new URLSearchParams({ query })}`));
  const { value: choices, error } = useLoaded(load, [query]);
  const toggle = (/** @type {string} */ path) => onChange(only.includes(path) ? only.filter((other) => other !== path) : [...only, path]);
  return html`<dialog ref=${dialog} class="dialog ask-picker" aria-labelledby="picker-title">
    <h2 id="picker-title">${t("ask.only.title")}</h2>
    <p class="muted">${t("ask.only.lead")}</p>
    <input type="search" autofocus maxlength="200" value=${text} aria-label=${t("ask.only.search")} placeholder=${t("ask.only.search")} onInput=${withValue(setText)}
      onCompositionStart=${() => setComposing(true)} onCompositionEnd=${() => setComposing(false)} />
    <p class="small muted" role="status">${error ? error.message : choices && !choices.length ? t("ask.only.nothing") : ""}</p>
    <ul>${(choices ?? []).map(({ kind, only: path, title, documents }) => html`<li key=${path}><label>
      <input type="checkbox" checked=${only.includes(path)} disabled=${only.length >= MAX_CHOSEN && !only.includes(path)} onChange=${() => toggle(path)} />
      <span><strong class="clip">${printable(title || shorten(path))}</strong>
        <span class="small muted clip">${kind === "folder" ? t("ask.only.folder", { n: documents }) : shorten(path)}</span></span></label></li>`)}</ul>
    <${Chips} only=${only} onRemove=${toggle} />
    <div class="dialog-actions">
      <button type="button" disabled=${!only.length} onClick=${() => onChange([])}>${t("ask.only.all")}</button>
      <button type="button" class="primary" onClick=${() => dialog.current?.close()}>${t("ask.only.done")}</button>
    </div>
  </dialog>`;
}
