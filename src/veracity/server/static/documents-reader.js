// The text of one document, beside the list. Long texts come piece by piece.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { number, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { languageName } from "./documents-list.js";
import { charactersIn, visible } from "./visible.js";

const PIECE = 20000; // characters

export function DocumentReader({ document: one, onClose }) {
  const dialog = useModal();
  const [text, setText] = useState({ pieces: [], end: 0, characters: null, busy: true, problem: "" });

  async function more(end) {
    setText((before) => ({ ...before, busy: true, problem: "" }));
    try {
      const piece = await get(`/api/document/text?id=${encodeURIComponent(one.id)}&start=${end}&end=${end + PIECE}`);
      setText((before) => added(before, piece));
    } catch (problem) {
      setText((before) => ({ ...before, busy: false, problem: problem.message }));
    }
  }

  useEffect(() => { more(0); }, [one.id]);

  return html`<dialog ref=${dialog} class="documents-reader" aria-labelledby="documents-reader-title" onClose=${onClose}
    onClick=${(event) => event.target === dialog.current && dialog.current.close()}>
    <header>
      <div>
        <h2 id="documents-reader-title"><bdi>${visible(one.title || one.id)}</bdi></h2>
        <p class="muted small"><bdi>${visible(one.location || t("documents.handed_in"))}</bdi>
          ${" "}· ${one.format} · ${languageName(one.language)}</p>
      </div>
      <button class="icon quiet" aria-label=${t("documents.close")} onClick=${() => dialog.current.close()}>
        <${Icon} name="close" /></button>
    </header>
    <div class="documents-reader-body" tabindex="0" role="region" aria-labelledby="documents-reader-title">
      ${text.pieces.map((piece, at) => html`<div key=${at} class="documents-text">${visible(piece)}</div>`)}
      <${Foot} text=${text} onMore=${() => more(text.end)} />
    </div>
  </dialog>`;
}

function Foot({ text, onMore }) {
  if (text.problem) {
    return html`<div class="notice bad" role="alert"><span>${text.problem}</span>
      <button class="small" onClick=${onMore}>${t("documents.again")}</button></div>`;
  }
  if (text.busy) return html`<p class="row muted"><span class="spinner"></span>${t("documents.reader_loading")}</p>`;
  if (!text.characters) return html`<p class="muted">${t("documents.reader_empty")}</p>`;
  if (text.end >= text.characters) return null;
  const shown = t("documents.reader_shown", { shown: number(text.end), count: number(text.characters) });
  return html`<div class="row">
    <button onClick=${onMore}>${t("documents.reader_more")}</button>
    <span class="muted small number">${shown}</span>
  </div>`;
}

function added(before, piece) {
  const end = piece.start + charactersIn(piece.text);
  return { pieces: [...before.pieces, piece.text], end, characters: piece.characters, busy: false, problem: "" };
}

// A dialog that is open as long as it is there. The browser keeps the focus inside, closes it on Esc, and gives it back.
export function useModal() {
  const dialog = useRef(null);
  useEffect(() => {
    const opened = dialog.current;
    const before = document.activeElement;
    opened.showModal();
    return () => {
      opened.close();
      before?.focus?.();
    };
  }, []);
  return dialog;
}
