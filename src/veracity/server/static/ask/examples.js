// Questions that the documents are known to answer: examples for a new conversation, and follow-ups of an answer. Or a
// hint to add documents.
import { html, useEffect, useState } from "../lib/preact.js";
import { feed, useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { language, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { detectLanguage, printable } from "../lib/text.js";
/** @import { ExampleQuestion, Me } from "../lib/types.d.ts" */

const EXAMPLE_COUNT = 4;
/** Shown until it is loaded again. @type {boolean | null} */
let cached = null;

/** Whether there are documents, or null until that is known. */
export function useHasDocuments() {
  const [hasDocuments, setHasDocuments] = useState(cached);
  useEffect(() => {
    const load = () => get("/api/documents?limit=1").then((loaded) => setHasDocuments(cached = loaded.length > 0), () => {});
    load();
    return feed.on("documents", load);
  }, []);
  return hasDocuments;
}

/** Prefers the language of the page. @param {{ onChoose: (question: string) => void }} props */
export function Examples({ onChoose }) {
  const { value, reload } = useLoaded(() => /** @type {Promise<ExampleQuestion[]>} */ (get("/api/examples")), []);
  useEffect(() => {
    const off = [feed.on("documents", reload), feed.on("examples", reload)];
    return () => off.forEach((unsubscribe) => unsubscribe());
  }, [reload]);
  const own = (/** @type {ExampleQuestion} */ example) => Number(example.language === language());
  const chosen = [...value ?? []].sort((first, second) => own(second) - own(first)).slice(0, EXAMPLE_COUNT);
  return html`<${Questions} heading="h2" title=${t("ask.examples")} questions=${chosen.map(({ question }) => question)} onChoose=${onChoose} />`;
}

/** @param {{ runId: string, onChoose: (question: string) => void }} props */
export function FollowUps({ runId, onChoose }) {
  const load = () => /** @type {Promise<string[]>} */ (get(`/api/runs/${encodeURIComponent(runId)}/follow-ups`).catch(() => []));
  const { value } = useLoaded(load, [runId]);
  return html`<${Questions} heading="h3" title=${t("ask.followUps")} questions=${value ?? []} onChoose=${onChoose} />`;
}

/** @param {{ heading: string, title: string, questions: string[], onChoose: (question: string) => void }} props */
function Questions({ heading, title, questions, onChoose }) {
  if (!questions.length) return null;
  return html`<section class="ask-examples" aria-label=${title}>
    <${heading} class="small muted">${title}<//>
    <ul>${questions.map((question) => html`<li key=${question}><button type="button" lang=${detectLanguage(question)}
      onClick=${() => onChoose(question)}>${printable(question)}</button></li>`)}</ul>
  </section>`;
}

/** @param {{ me: Me }} props */
export function NoDocuments({ me }) {
  return html`<div class="ask-examples"><p class="notice"><${Icon} name="documents" /> <span>${t("ask.noDocuments")}
    ${" "}${me.role === "admin" ? html`<a href="#/documents">${t("ask.addDocuments")}</a>` : t("ask.noDocuments.asker")}</span></p></div>`;
}
