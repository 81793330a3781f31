// The text of one document, beside the list. Long texts come piece by piece.
import { html, useEffect, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { number, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { locationOf } from "./citing.js";
import { languageName } from "./documents-list.js";
import { useModal } from "./question.js";
import { charactersIn, visible } from "./visible.js";

const PIECE = 20000; // characters

export function DocumentReader({ document: one, onClose }) {
  const dialog = useModal(onClose);
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

  return html`<dialog ref=${dialog} class="documents-reader" aria-labelledby="documents-reader-title"
    onClick=${(event) => event.target === dialog.current && dialog.current.close()}>
    <header>
      <div>
        <h2 id="documents-reader-title"><bdi lang=${one.language || null}>${visible(one.title || one.id)}</bdi></h2>
        <p class="muted small"><bdi>${visible(locationOf(one) || t("documents.handed_in"))}</bdi>
          ${" "}· ${one.format} · ${languageName(one.language)}</p>
      </div>
      <button class="icon quiet" aria-label=${t("documents.close")} onClick=${() => dialog.current.close()}>
        <${Icon} name="close" /></button>
    </header>
    <div class="documents-reader-body" tabindex="0" role="region" aria-labelledby="documents-reader-title">
      ${text.pieces.map((piece, at) => html`<div key=${at} class="documents-text" lang=${one.language || null}>${visible(piece)}</div>`)}
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
