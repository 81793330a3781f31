// An answer, or a draft of one: `<${Answer} answer=${…} isDraft=${…} onCite=${(citation) => …} />`. Unsupported sentences
// are marked, citations are buttons, and the sources are listed below. Knows nothing about how it came about; whoever shows
// it opens the Source panel.
import { html, useMemo } from "./vendor/preact.js";
import { Icon } from "./icons.js";
import { known, percent, t } from "./i18n.js";
import { Markdown } from "./markdown.js";
import { visible } from "./visible.js";
import { asText, citationAt, isDoubtful, locationOf, placeOf, placed, sourcesOf } from "./citing.js";
import { Copy } from "./copying.js";
import { Reason } from "./decisions.js";

const STRESSED = new Set(
  ["rejected", "review_failed", "unsupported", "low_score", "from_web", "not_reviewed", "not_scored"],
);
const BANNERS = {
  abstained: ["warn", "info"],
  awaiting_approval: ["accent", "clock"],
  rejected: ["bad", "cross"],
};

const UNFORMED = new Set(["abstained", "awaiting_approval", "rejected"]); // nothing that stands, and so nothing to copy

const OF_THE_TEXT = new Set(["forgotten", "extractive", "recalled"]);

// What it said is gone, with a document that it rested on.
export const isForgotten = (answer) => (answer.notices ?? []).some(({ code }) => code === "forgotten");

export const pageWords = (number) => t("answer.page", { number });

export function Answer({ answer, isDraft = false, onCite }) {
  const places = useMemo(() => placed(answer), [answer]);
  const cite = (number, at) => html`<${Cite} number=${number} answer=${answer} onCite=${onCite}
    citation=${citationAt(answer, places, number, at)} />`;
  const look = isDraft ? "answer-draft" : answer.status === "rejected" ? "answer-rejected" : "";
  return html`<article class=${`answer ${look}`}
    aria-label=${t(isDraft ? "answer.draft" : "answer.answer")}>
    ${isDraft ? html`<${DraftLabel} />` : html`<${Banner} answer=${answer} />`}
    ${answer.text
      ? html`<div class="answer-text" lang=${answer.language || undefined}>
          <${Markdown} text=${answer.text} marks=${doubts(places)} cite=${cite} />
        </div>`
      : html`<p class="muted">${t("answer.removed")}</p>`}
    <${Legend} places=${places} notices=${answer.notices ?? []} />
    <${Missing} answer=${answer} />
    <${Notices} notices=${untold(answer)} language=${answer.language} />
    ${isDraft || UNFORMED.has(answer.status) || isForgotten(answer) ? null : html`<${Foot} answer=${answer} />`}
    <${Sources} answer=${answer} onCite=${onCite} />
  </article>`;
}

function doubts(places) {
  return places
    .filter(({ sentence }) => isDoubtful(sentence))
    .map(({ start, end, sentence: { citations, unresolved = [] } }) => {
      const title = t(citations.length || unresolved.length ? "answer.unsupported" : "answer.citesNothing");
      return { start, end, className: "answer-unsupported", title, label: t("answer.unsupported.label", { why: title }) };
    });
}

function Cite({ number, answer, citation, onCite }) {
  if (!citation) {
    const isKnown = (answer.evidence ?? []).length > 0;
    return html`<span class=${`answer-cite ${isKnown ? "answer-unresolved" : ""}`}
      title=${isKnown ? t("answer.unresolved") : undefined}>${number}</span>`;
  }
  const title = visible(answer.evidence?.[number - 1]?.title || t("answer.untitled"));
  if (!onCite) return html`<span class="answer-cite" title=${title}>${number}</span>`;
  return html`<button type="button" class="answer-cite" title=${title} aria-label=${t("answer.cite", { number, title })}
    onClick=${() => onCite(citation)}>${number}</button>`;
}

function DraftLabel() {
  return html`<p class="answer-draft-label"><${Icon} name="edit" size=${14} /> ${t("answer.draft.label")}</p>`;
}

function Banner({ answer }) {
  const look = BANNERS[answer.status];
  if (!look) return null;
  const [tone, icon] = look;
  const rejection = answer.status === "rejected" && answer.decisions?.findLast(({ verdict }) => verdict === "reject");
  return html`<p class=${`notice ${tone}`}>
    <${Icon} name=${icon} /> <span><strong>${rejection
      ? t("answer.status.rejected.by", { name: visible(rejection.by) })
      : t(`answer.status.${answer.status}`)}</strong><${Reason} text=${rejection?.reason} /></span>
  </p>`;
}

// Not what the banner or the place of the text says already, nor how a text was made that is gone.
function untold({ status, text, notices = [] }) {
  return notices.filter(({ code }) => !(code === "rejected" && status === "rejected") && !(OF_THE_TEXT.has(code) && !text));
}

function Legend({ places, notices }) {
  const count = places.filter(({ sentence }) => isDoubtful(sentence)).length;
  if (!count || notices.some(({ code }) => code === "unsupported")) return null; // which says the same
  return html`<p class="small muted">
    <span class="answer-unsupported" aria-hidden="true">${t("answer.legend.sample")}</span>
    ${" "}${t("answer.legend", { n: count })}
  </p>`;
}

// What is missing is often in the text already; then it is not said twice.
function Missing({ answer }) {
  const missing = (answer.missing ?? []).filter((one) => !answer.text.includes(one));
  if (!missing.length) return null;
  return html`<section class="answer-missing">
    <h3>${t("answer.missing")}</h3>
    <ul lang=${answer.language || undefined}>${missing.map((one) => html`<li dir="auto">${visible(one)}</li>`)}</ul>
  </section>`;
}

function Notices({ notices, language }) {
  if (!notices.length) return null;
  const sorted = [...notices].sort((one, other) => STRESSED.has(other.code) - STRESSED.has(one.code));
  return html`<ul class="answer-notices" aria-label=${t("answer.notices")}>
    ${sorted.map(({ code, text }) => html`<li class=${STRESSED.has(code) ? "answer-stressed" : ""}>
      <${Icon} name=${STRESSED.has(code) ? "warn" : "info"} size=${16} /><span dir="auto" lang=${language || undefined}>${visible(text)}</span>
    </li>`)}
  </ul>`;
}

function Foot({ answer }) {
  const isWeb = (answer.evidence ?? []).some(({ source }) => source === "web");
  return html`<div class="answer-foot row">
    ${known(`answer.form.${answer.form}`) ? html`<span class="badge">${t(`answer.form.${answer.form}`)}</span>` : null}
    ${isWeb ? html`<span class="badge warn">${t("answer.form.web")}</span>` : null}
    <${Copy} words=${t("answer.copy")} text=${() => asText(answer, pageWords)} />
  </div>`;
}

// The cited ones, and folded the others that were read.
function Sources({ answer, onCite }) {
  const sources = sourcesOf(answer);
  const row = (one) => html`<${SourceRow} key=${one.number} ...${one} onCite=${onCite} />`;
  const cited = sources.filter(({ isCited }) => isCited).map(row);
  const others = sources.filter(({ isCited }) => !isCited).map(row);
  if (!sources.length) return null;
  return html`<section class="answer-sources">
    <h3>${t("answer.sources")}</h3>
    ${cited.length ? html`<ol>${cited}</ol>` : null}
    ${others.length
      ? html`<details>
          <summary class="small muted">${t(cited.length ? "answer.uncited" : "answer.read", { n: others.length })}</summary>
          <ol>${others}</ol>
        </details>`
      : null}
  </section>`;
}

function SourceRow({ number, evidence, citation, onCite }) {
  const place = placeOf(evidence, pageWords);
  const relevance = evidence.metadata?.relevance_score;
  const kind = known(`answer.source.${evidence.source}`) ? t(`answer.source.${evidence.source}`) : visible(evidence.source);
  const title = evidence.text ? visible(evidence.title || locationOf(evidence) || t("answer.untitled")) : t("answer.removed");
  return html`<li><button type="button" class="answer-source" disabled=${!onCite} onClick=${() => onCite?.(citation)}>
    <span class="answer-number">${number}</span>
    <span class="answer-source-text">
      <bdi class="answer-source-title" lang=${evidence.language || undefined}>${title}</bdi>
      <span class="small muted">${place ? html`<bdi>${visible(place)}</bdi> · ` : null}${kind}${
        relevance === undefined ? null : ` · ${t("answer.relevance", { share: percent(relevance) })}`}</span>
    </span>
  </button></li>`;
}
