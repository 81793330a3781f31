// The source of a citation beside the answer: the document's own text, the quote marked and scrolled to.
//
//   <${Source} citation=${citation} evidence=${answer.evidence} onClose=${…}
//              citations=${citationsOf(answer)} onCite=${(citation) => …} />
//
// `evidence` is the answer's list or the one passage. With `citations` and `onCite` one can step through them. It fills the
// column it is put into, and is a sheet from below on phones. Knows nothing about answers.
import { html, useEffect, useRef } from "./vendor/preact.js";
import { Icon } from "./icons.js";
import { t } from "./i18n.js";
import { visible } from "./visible.js";
import { locationOf, placeOf } from "./citing.js";
import { useExcerpt } from "./excerpt.js";
import { Excerpt } from "./reading.js";

export function Source({ citation, evidence, citations = [], onCite, onClose }) {
  const passage = Array.isArray(evidence) ? evidence[citation.number - 1] : evidence;
  const excerpt = useExcerpt(citation, passage);
  const panel = usePanel(citation, onClose);
  return html`<aside class="source" ref=${panel} aria-label=${t("answer.source.panel")}>
    <header class="source-head">
      <div class="source-title">
        <h2 tabindex="-1">
          ${citation.number ? html`<span class="answer-number">${citation.number}</span>` : null}
          ${" "}<bdi lang=${passage?.language || undefined}>${titleOf(passage)}</bdi>
        </h2>
        <${Place} passage=${onItsPage(passage, citation, excerpt)} />
      </div>
      <button type="button" class="quiet icon" aria-label=${t("answer.source.close")} title=${t("answer.source.close")}
        onClick=${onClose}><${Icon} name="close" /></button>
    </header>
    <${Note} excerpt=${excerpt} passage=${passage} />
    <${Excerpt} excerpt=${excerpt} language=${passage?.language} />
    <${Steps} citation=${citation} citations=${citations} onCite=${onCite} />
  </aside>`;
}

function titleOf(passage) {
  return visible(passage?.title || locationOf(passage ?? {}) || t("answer.untitled"));
}

// A passage may run over the end of a page: the quote stands on the page where it begins.
function onItsPage(passage, citation, excerpt) {
  const page = excerpt.page_starts?.filter((start) => start <= citation.start).length;
  return page && passage ? { ...passage, page } : passage;
}

// An address is shown, never linked: it comes from a document or from the web.
function Place({ passage }) {
  if (!passage) return null;
  const place = placeOf(passage, (number) => t("answer.page", { number }));
  return html`${place ? html`<p class="small muted"><bdi lang=${passage.language || undefined}>${visible(place)}</bdi></p>` : null}
    ${passage.location
      ? html`<p class="small muted"><code class="source-location" dir="ltr">${visible(locationOf(passage))}</code></p>`
      : null}`;
}

const NOTES = {
  web: "answer.source.note.web",
  history: "answer.source.note.history",
  changed: "answer.source.note.changed",
};

function Note({ excerpt, passage }) {
  if (excerpt.phase !== "passage") return null;
  const key = passage?.text ? NOTES[excerpt.why] ?? "answer.source.note.forgotten" : "answer.removed";
  return html`<p class="notice source-note">
    <${Icon} name="info" /> <span>${t(key)} ${visible(excerpt.problem ?? "")}</span>
  </p>`;
}

function Steps({ citation, citations, onCite }) {
  const at = citations.findIndex((one) => isSame(one, citation));
  if (!onCite || citations.length < 2) return null;
  const go = (step) => onCite(citations[(Math.max(at, step < 0 ? 0 : -1) + step + citations.length) % citations.length]);
  return html`<nav class="source-steps row spread" aria-label=${t("answer.source.steps")}>
    <button type="button" class="quiet small" onClick=${() => go(-1)}>
      <${Icon} name="left" size=${16} />${t("answer.source.previous")}
    </button>
    <span class="small muted number" role="status">
      ${at < 0 ? "" : t("answer.source.of", { at: at + 1, all: citations.length })}
    </span>
    <button type="button" class="quiet small" onClick=${() => go(1)}>
      ${t("answer.source.next")}<${Icon} name="right" size=${16} />
    </button>
  </nav>`;
}

function isSame(one, other) {
  return one === other || (one.evidence_id === other.evidence_id && one.start === other.start && one.quote === other.quote);
}

// Focus goes to the panel when it opens, and back from it to where it came from; Esc closes it before anything else.
function usePanel(citation, onClose) {
  const panel = useRef(null);
  const cameFrom = useRef(null);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const active = document.activeElement;
    if (panel.current.contains(active)) return;
    cameFrom.current = active;
    panel.current.querySelector("h2").focus({ preventScroll: true });
  }, [citation]);
  useEffect(() => {
    const onKeyDown = (event) => {
      if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
      event.preventDefault();
      event.stopPropagation();
      close.current?.();
    };
    document.addEventListener("keydown", onKeyDown, true);
    return () => {
      document.removeEventListener("keydown", onKeyDown, true);
      const active = document.activeElement;
      const isOurs = active === document.body || panel.current?.contains(active); // nobody else's who types meanwhile
      if (isOurs && cameFrom.current?.isConnected) cameFrom.current.focus({ preventScroll: true });
    };
  }, []);
  return panel;
}
