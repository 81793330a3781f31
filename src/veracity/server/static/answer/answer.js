// An answer or a draft: unsupported sentences are marked, citations are buttons, and sources are listed below.
import { html, useMemo } from "../lib/preact.js";
import { CopyButton } from "../lib/components.js";
import { hasText, language as currentLanguage, nameOf, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { Markdown } from "../lib/markdown.js";
import { rate, scales } from "../lib/strength.js";
import { detectLanguage, printable } from "../lib/text.js";
import { Cite } from "./cite.js";
import { describePlace, findCitation, isUnsupported, listSources, locateSentences, shortLocation, toPlainText } from "./citations.js";
/** @import { Answer as AnswerData, Citation, Notice, SourceEntry } from "../lib/types.d.ts" */
/** @import { LocatedSentence } from "./citations.js" */

const STRESSED = new Set(
  ["rejected", "review_failed", "unsupported", "uncertain", "low_score", "low_grounding", "from_web", "not_reviewed", "not_scored"],
);
/** @type {Record<string, [tone: string, icon: string]>} */
const BANNERS = {
  awaiting_approval: ["accent", "clock"],
  rejected: ["bad", "cross"],
};
const ABOUT_THE_TEXT = new Set(["forgotten", "extractive", "recalled"]);

/** Whether its text was erased with a document it used. @param {AnswerData} answer */
export const isForgotten = (answer) => (answer.notices ?? []).some(({ code }) => code === "forgotten");

/** @param {{ answer: AnswerData, isDraft?: boolean, onCite?: (citation: Citation) => void }} props */
export function Answer({ answer, isDraft = false, onCite }) {
  const sentences = useMemo(() => locateSentences(answer), [answer]);
  const cite = (/** @type {number} */ number, /** @type {number} */ at) => html`<${Cite} number=${number} answer=${answer} onCite=${onCite}
    citation=${findCitation(answer, sentences, number, at)} />`;
  const isFinal = !isDraft && answer.status === "answered" && !isForgotten(answer);
  return html`<article class=${`answer ${isDraft ? "answer-draft" : ""}`}
    aria-label=${t(isDraft ? "answer.draft" : "answer.answer")}>
    ${isDraft ? html`<${DraftLabel} />` : html`<${Banner} answer=${answer} />`}
    ${answer.text
      ? html`<div class="answer-text" lang=${answer.language || undefined}>
          <${Markdown} text=${answer.text} marks=${markUnsupported(sentences)} cite=${cite} />
        </div>`
      : html`<p class="muted">${t("answer.removed")}</p>`}
    <${Legend} sentences=${sentences} notices=${answer.notices ?? []} />
    <${Missing} answer=${answer} />
    <${Notices} notices=${remainingNotices(answer)} language=${answer.language} />
    ${isFinal ? html`<${Foot} answer=${answer} />` : null}
    <${Sources} answer=${answer} onCite=${onCite} />
  </article>`;
}

/** @param {LocatedSentence[]} sentences */
function markUnsupported(sentences) {
  return sentences
    .filter(({ sentence }) => isUnsupported(sentence))
    .map(({ start, end, sentence: { citations, unresolved = [] } }) => {
      const title = t(citations.length || unresolved.length ? "answer.unsupported" : "answer.citesNothing");
      return { start, end, className: "answer-unsupported", title, label: t("answer.unsupported.label", { why: title }) };
    });
}

function DraftLabel() {
  return html`<p class="answer-draft-label"><${Icon} name="edit" size=${14} /> ${t("answer.draft.label")}</p>`;
}

/** @param {{ answer: AnswerData }} props */
function Banner({ answer }) {
  const look = BANNERS[answer.status];
  if (!look) return null;
  const [tone, icon] = look;
  const rejection = answer.status === "rejected" ? answer.decisions?.findLast(({ verdict }) => verdict === "reject") : null;
  return html`<p class=${`notice ${tone}`}>
    <${Icon} name=${icon} /> <span><strong>${rejection
      ? t("answer.status.rejected.by", { name: printable(rejection.by) })
      : t(`answer.status.${answer.status}`)}</strong><${Reason} text=${rejection?.reason} /></span>
  </p>`;
}

/** The reason somebody gave for a decision. @param {{ text?: string }} props */
export function Reason({ text }) {
  return text ? html` <q class="answer-reason" dir="auto" lang=${detectLanguage(text)}>${printable(text)}</q>` : null;
}

/** Without notices that repeat the banner, or that describe a text that was erased. @param {AnswerData} answer */
function remainingNotices({ status, text, notices = [] }) {
  return notices.filter(({ code }) => !(code === "rejected" && status === "rejected") && !(ABOUT_THE_TEXT.has(code) && !text));
}

/** @param {{ sentences: LocatedSentence[], notices: Notice[] }} props */
function Legend({ sentences, notices }) {
  const count = sentences.filter(({ sentence }) => isUnsupported(sentence)).length;
  if (!count || notices.some(({ code }) => code === "unsupported")) return null; // the notice says the same
  return html`<p class="small muted">
    <span class="answer-unsupported" aria-hidden="true">${t("answer.legend.sample")}</span>
    ${" "}${t("answer.legend", { n: count })}
  </p>`;
}

/** What the documents do not say, unless the text says so already. @param {{ answer: AnswerData }} props */
function Missing({ answer }) {
  const missing = (answer.missing ?? []).filter((item) => !answer.text.includes(item));
  if (!missing.length) return null;
  return html`<section class="answer-missing">
    <h3>${t("answer.missing")}</h3>
    <ul lang=${answer.language || undefined}>${missing.map((item) => html`<li dir="auto">${printable(item)}</li>`)}</ul>
  </section>`;
}

/** In the language of the page, if they have been translated. @param {{ notices: Notice[], language: string }} props */
function Notices({ notices, language }) {
  if (!notices.length) return null;
  const sorted = [...notices].sort((a, b) => Number(STRESSED.has(b.code)) - Number(STRESSED.has(a.code)));
  return html`<ul class="answer-notices" aria-label=${t("answer.notices")}>
    ${sorted.map(({ code, text, translations }) => {
      const translation = translations?.[currentLanguage()];
      return html`<li class=${STRESSED.has(code) ? "answer-stressed" : ""}>
        <${Icon} name=${STRESSED.has(code) ? "warn" : "info"} size=${16} />
        <span dir="auto" lang=${translation ? undefined : language || undefined}>${printable(translation ?? text)}</span>
      </li>`;
    })}
  </ul>`;
}

/** @param {{ answer: AnswerData }} props */
function Foot({ answer }) {
  const isFromWeb = (answer.evidence ?? []).some(({ source }) => source === "web");
  return html`<div class="answer-foot row">
    ${hasText(`answer.form.${answer.form}`) ? html`<span class="badge">${t(`answer.form.${answer.form}`)}</span>` : null}
    ${isFromWeb ? html`<span class="badge warn">${t("answer.form.web")}</span>` : null}
    <${CopyButton} label=${t("answer.copy")} text=${() => toPlainText(answer)} />
  </div>`;
}

/**
 * The cited passages, and folded those that were read but not cited.
 * @param {{ answer: AnswerData, onCite?: (citation: Citation) => void }} props
 */
function Sources({ answer, onCite }) {
  const sources = listSources(answer);
  const row = (/** @type {SourceEntry} */ source) => html`<${SourceRow} key=${source.number} source=${source} onCite=${onCite} />`;
  const cited = sources.filter(({ isCited }) => isCited).map(row);
  const others = sources.filter(({ isCited }) => !isCited).map(row);
  if (!sources.length) return null;
  const isAbstention = answer.status === "abstained";
  return html`<section class="answer-sources">
    <h3>${t(isAbstention && !cited.length ? "answer.nearest" : "answer.sources")}</h3>
    ${cited.length ? html`<ol>${cited}</ol>` : null}
    ${others.length
      ? html`<details open=${isAbstention}>
          <summary class="small muted">${t(cited.length ? "answer.uncited" : "answer.read", { n: others.length })}</summary>
          <ol>${others}</ol>
        </details>`
      : null}
  </section>`;
}

/** @param {{ source: SourceEntry, onCite?: (citation: Citation) => void }} props */
function SourceRow({ source: { number, evidence, citation, quotes }, onCite }) {
  const place = describePlace(evidence);
  const relevance = evidence.metadata?.relevance_score;
  const title = evidence.text ? printable(evidence.title || shortLocation(evidence) || t("answer.untitled")) : t("answer.removed");
  return html`<li><button type="button" class="answer-source" disabled=${!onCite} onClick=${() => onCite?.(citation)}>
    <span class="answer-number">${number}</span>
    <span class="answer-source-text">
      <bdi class="answer-source-title" lang=${evidence.language || undefined}>${title}</bdi>
      <span class="small muted">${place ? html`<bdi>${printable(place)}</bdi> · ` : null}${printable(nameOf("answer.source.", evidence.source))}${
        relevance === undefined ? null : ` · ${t("answer.relevance", { share: rate(relevance, scales.relevance).text })}`}</span>
      ${quotes.map((quote) => html`<q class="print-only small" lang=${evidence.language || undefined}>${printable(quote)}</q>`)}
    </span>
  </button></li>`;
}
