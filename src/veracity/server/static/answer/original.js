// The original file of a document: a link that opens it, and the page of a PDF on which a quote is.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { Loading } from "../lib/components.js";
import { asApiError, get } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { scrollToMiddle } from "./excerpt.js";
/** @import { Citation, DocumentPage } from "../lib/types.d.ts" */

/** @typedef {{ found?: DocumentPage, problem?: string }} View */

/** The server shows what browsers can show without running it, and sends the rest as a download. @param {{ id: string }} props */
export function OriginalLink({ id }) {
  return html`<a class="button quiet small" target="_blank" rel="noopener" href=${`/api/document/original?show=true&id=${encodeURIComponent(id)}`}>
    <${Icon} name="documents" size=${16} />${t("answer.original")}</a>`;
}

/** The page of a quote as a picture, with the quote highlighted. @param {{ citation: Citation }} props */
export function OriginalPage({ citation }) {
  const { document_id: id, start, end } = citation;
  const [view, setView] = useState(/** @type {View} */ ({}));
  const [isLarge, setLarge] = useState(false);
  const [number, setNumber] = useState(0); // 0: the page of the quote
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const address = `/api/document/page?id=${encodeURIComponent(id)}&start=${start}&end=${end}`;
  useEffect(() => { setNumber(0); }, [address]);
  useEffect(() => {
    let isCurrent = true;
    get(number ? `${address}&page=${number}` : address).then(
      (/** @type {DocumentPage} */ found) => isCurrent && setView({ found }),
      (error) => isCurrent && setView({ problem: asApiError(error).message }),
    );
    return () => { isCurrent = false; };
  }, [address, number]);
  useLayoutEffect(() => {
    const box = /** @type {HTMLElement} */ (body.current);
    const quote = box.querySelector(".source-box");
    if (quote) box.scrollTop = scrollToMiddle(box, quote);
    else box.scrollTop = 0;
    if (quote) box.scrollLeft += quote.getBoundingClientRect().left - box.getBoundingClientRect().left - 24;
  }, [view, isLarge]);
  const { found, problem } = view;
  return html`<div class="source-body source-pages" ref=${body} tabindex="0" role="group" aria-label=${t("answer.source.page")}>
    ${problem ? html`<p class="notice bad" role="alert">${problem}</p>` : null}
    ${!found && !problem ? html`<${Loading} text=${t("answer.source.page.loading")} />` : null}
    ${found ? html`<${Bar} found=${found} isLarge=${isLarge} setLarge=${setLarge} setNumber=${setNumber} />
      <${Page} id=${id} found=${found} isLarge=${isLarge} />` : null}
  </div>`;
}

/** @param {{ found: DocumentPage, isLarge: boolean, setLarge: (isLarge: boolean) => void, setNumber: (page: number) => void }} props */
function Bar({ found: { page, pages, boxes }, isLarge, setLarge, setNumber }) {
  return html`<div class="source-page-bar row">
    <button type="button" class="quiet icon" aria-label=${t("answer.source.page.previous")} disabled=${page <= 1}
      onClick=${() => setNumber(page - 1)}><${Icon} name="left" size=${16} /></button>
    <span class="small number" role="status">${t("answer.source.page.of", { page, pages })}${
      boxes.length ? "" : ` · ${t("answer.source.page.unmarked")}`}</span>
    <button type="button" class="quiet icon" aria-label=${t("answer.source.page.next")} disabled=${page >= pages}
      onClick=${() => setNumber(page + 1)}><${Icon} name="right" size=${16} /></button>
    <button type="button" class="quiet small" aria-pressed=${isLarge} onClick=${() => setLarge(!isLarge)}>
      <${Icon} name="search" size=${16} />${t("answer.source.page.enlarge")}</button>
  </div>`;
}

/** @param {{ id: string, found: DocumentPage, isLarge: boolean }} props */
function Page({ id, found: { page, pages, width, height, boxes }, isLarge }) {
  const share = (/** @type {number} */ part) => `${100 * part}%`;
  return html`<div class="source-page" data-large=${isLarge} key=${page} style=${{ aspectRatio: `${width} / ${height}` }}>
    <img src=${`/api/document/page/image?id=${encodeURIComponent(id)}&page=${page}`} alt=${t("answer.source.page.of", { page, pages })} />
    ${boxes.map((box) => html`<span class="source-box"
      style=${{ left: share(box.left), top: share(box.top), width: share(box.width), height: share(box.height) }}></span>`)}
  </div>`;
}
