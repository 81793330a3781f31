// The text of a document in a dialog. Long texts are loaded piece by piece.
import { html, useEffect, useState } from "../lib/preact.js";
import { shortLocation } from "../answer/citations.js";
import { OriginalLink } from "../answer/original.js";
import { SourceText } from "../answer/source-text.js";
import { ErrorNotice, Loading, useModal } from "../lib/components.js";
import { asApiError, get } from "../lib/http.js";
import { number, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { countCharacters, printable } from "../lib/text.js";
import { languageName } from "./list.js";
/** @import { DocumentText, KnownDocument } from "../lib/types.d.ts" */

/** @typedef {{ pieces: string[], end: number, characters: number, isBusy: boolean, problem: string, last?: DocumentText }} LoadedText */

const PIECE_LENGTH = 20000; // characters

/** @param {{ document: KnownDocument, onClose: () => void }} props */
export function DocumentReader({ document, onClose }) {
  const dialog = useModal(onClose);
  const [text, setText] = useState(/** @type {LoadedText} */ ({ pieces: [], end: 0, characters: 0, isBusy: true, problem: "" }));

  async function load(/** @type {number} */ start) {
    setText((before) => ({ ...before, isBusy: true, problem: "" }));
    try {
      /** @type {DocumentText} */
      const last = await get(`/api/document/text?id=${encodeURIComponent(document.id)}&start=${start}&end=${start + PIECE_LENGTH}`);
      const piece = last.end < last.characters ? toWholeBlock(last.text) : last.text;
      const end = last.start + countCharacters(piece);
      setText(({ pieces }) => ({ pieces: [...pieces, piece], end, characters: last.characters, isBusy: false, problem: "", last }));
    } catch (error) {
      setText((before) => ({ ...before, isBusy: false, problem: asApiError(error).message }));
    }
  }

  useEffect(() => { load(0); }, [document.id]);

  return html`<dialog ref=${dialog} class="documents-reader" aria-labelledby="documents-reader-title"
    onClick=${(/** @type {Event} */ event) => event.target === dialog.current && dialog.current?.close()}>
    <header>
      <div>
        <h2 id="documents-reader-title"><bdi lang=${document.language || null}>${printable(document.title || document.id)}</bdi></h2>
        <p class="muted small"><bdi>${printable(shortLocation(document) || t("documents.handed_in"))}</bdi>
          ${" "}· ${document.format} · ${languageName(document.language)}</p>
        ${text.last?.has_original && html`<${OriginalLink} id=${document.id} />`}
      </div>
      <button class="icon quiet" aria-label=${t("documents.close")} onClick=${() => dialog.current?.close()}>
        <${Icon} name="close" /></button>
    </header>
    <div class="documents-reader-body" tabindex="0" role="region" aria-labelledby="documents-reader-title">
      ${text.pieces.map((piece, index) => html`<${SourceText} key=${index} text=${piece} isMarkdown=${text.last?.markdown} language=${document.language}
        className="documents-text" />`)}
      <${Foot} text=${text} onMore=${() => load(text.end)} />
    </div>
  </dialog>`;
}

/** Cuts a piece after a paragraph or a line, so that each piece can be rendered by itself. @param {string} piece */
function toWholeBlock(piece) {
  const at = piece.lastIndexOf("\n\n") + 2;
  return piece.slice(0, at > 1 ? at : piece.lastIndexOf("\n") + 1 || piece.length);
}

/** @param {{ text: LoadedText, onMore: () => void }} props */
function Foot({ text, onMore }) {
  if (text.problem) return html`<${ErrorNotice} text=${text.problem} onRetry=${onMore} />`;
  if (text.isBusy) return html`<${Loading} text=${t("documents.reader_loading")} />`;
  if (!text.characters) return html`<p class="muted">${t("documents.reader_empty")}</p>`;
  if (text.end >= text.characters) return null;
  const shown = t("documents.reader_shown", { shown: number(text.end), count: number(text.characters) });
  return html`<div class="row">
    <button onClick=${onMore}>${t("documents.reader_more")}</button>
    <span class="muted small number">${shown}</span>
  </div>`;
}
