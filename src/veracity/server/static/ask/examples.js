// Example questions about the documents, or a hint to add some.
import { html, useEffect, useState } from "../lib/preact.js";
import { feed } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { language, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
/** @import { KnownDocument, Me } from "../lib/types.d.ts" */

const EXAMPLE_COUNT = 3;
const MAX_TITLE_LENGTH = 60;
/** Shown until the list is loaded again. @type {KnownDocument[] | null} */
let cached = null;

/** The first documents, or null until they are known. */
export function useDocuments() {
  const [documents, setDocuments] = useState(cached);
  useEffect(() => {
    const load = () => get("/api/documents?limit=60").then((loaded) => setDocuments(cached = loaded), () => {});
    load();
    return feed.on("documents", load);
  }, []);
  return documents;
}

/** @param {{ documents: KnownDocument[], onChoose: (question: string) => void }} props */
export function Examples({ documents, onChoose }) {
  const questions = pickDocuments(documents).map(({ title }) => t("ask.example", { title: printable(title) }));
  return html`<section class="ask-examples" aria-label=${t("ask.examples")}>
    <h2 class="small muted">${t("ask.examples")}</h2>
    <ul>${questions.map((question) => html`
      <li><button type="button" onClick=${() => onChoose(question)}>${question}</button></li>`)}</ul>
  </section>`;
}

/** @param {{ me: Me }} props */
export function NoDocuments({ me }) {
  return html`<div class="ask-examples"><p class="notice"><${Icon} name="documents" /> <span>${t("ask.noDocuments")}
    ${" "}${me.role === "admin" ? html`<a href="#/documents">${t("ask.addDocuments")}</a>` : t("ask.noDocuments.asker")}</span></p></div>`;
}

/** Prefers the language of the page, and spreads over the list. @param {KnownDocument[]} documents */
function pickDocuments(documents) {
  const titled = documents.filter(({ title }) => title && title.length <= MAX_TITLE_LENGTH);
  const sameLanguage = titled.filter((document) => document.language === language());
  const pool = sameLanguage.length >= EXAMPLE_COUNT ? sameLanguage : titled;
  const stride = Math.max(1, Math.floor(pool.length / EXAMPLE_COUNT));
  return pool.filter((_, index) => index % stride === 0).slice(0, EXAMPLE_COUNT);
}
