// What is shown where an address leads nowhere: why, and a way on. Knows nothing about what was looked for.
import { html } from "./vendor/preact.js";
import { t } from "./i18n.js";

export function Missing({ title, lead = t("shell.notFound.lead") }) {
  return html`<div class="view"><div class="empty stack"><h1>${title}</h1><p>${lead}</p>
    <p><a class="button" href="#/">${t("shell.new")}</a></p></div></div>`;
}
