// What to ask when nothing was asked yet: questions about documents that are there, or how to add some.
import { html, useEffect, useState } from "./vendor/preact.js";
import { feed, get } from "./api.js";
import { language, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { visible } from "./visible.js";

const SHOWN = 3;
let known = null; // shown at once when one comes back, and looked up again

export function Examples({ me, onChoose }) {
  const [documents, setDocuments] = useState(known);
  useEffect(() => {
    const look = () => get("/api/documents?limit=60").then((found) => {
      known = found;
      setDocuments(found);
    }, () => {});
    look();
    return feed.on("documents", look);
  }, []);
  if (!documents) return null;
  if (!documents.length) {
    return html`<div class="ask-examples"><p class="notice"><${Icon} name="documents" /> <span>${t("ask.noDocuments")}
      ${me.role === "admin" && html` <a href="#/documents">${t("ask.addDocuments")}</a>`}</span></p></div>`;
  }
  return html`<section class="ask-examples" aria-label=${t("ask.examples")}>
    <h2 class="small muted">${t("ask.examples")}</h2>
    <ul>${chosen(documents).map(({ title }) => t("ask.example", { title: visible(title) })).map((question) => html`
      <li><button type="button" onClick=${() => onChoose(question)}>${question}</button></li>`)}</ul>
  </section>`;
}

// Those in the language of the page first, spread over the list.
function chosen(documents) {
  const titled = documents.filter((one) => one.title && one.title.length <= 60);
  const mine = titled.filter((one) => one.language === language());
  const pool = mine.length >= SHOWN ? mine : titled;
  const stride = Math.max(1, Math.floor(pool.length / SHOWN));
  return pool.filter((_, index) => index % stride === 0).slice(0, SHOWN);
}
