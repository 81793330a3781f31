// The admin view: the people of the workspace, and the settings in force.
import { html } from "../lib/preact.js";
import { NotFound } from "../lib/components.js";
import { t, useLanguage } from "../lib/i18n.js";
import { People } from "./people.js";
import { Settings } from "./settings.js";
/** @import { ComponentChildren } from "../lib/preact.js" */
/** @import { Me, Route } from "../lib/types.d.ts" */

/** @type {Record<string, (props: { me: Me }) => ComponentChildren>} */
const TABS = { people: People, settings: Settings };

/** @param {{ me: Me, route: Route }} props */
export function Admin({ me, route }) {
  useLanguage();
  const current = route.id || "people";
  if (!Object.hasOwn(TABS, current)) return html`<${NotFound} title=${t("shell.notFound")} />`;
  return html`<div class="view admin">
    <header class="view-head"><h1 tabindex="-1">${t("shell.admin")}</h1>
      <nav class="evaluator-tabs" aria-label=${t("shell.admin")}>${Object.keys(TABS).map((tab) => html`
        <a key=${tab} class="button quiet" href=${`#/admin/${tab}`} aria-current=${tab === current ? "page" : null}>${t(`admin.tab.${tab}`)}</a>`)}</nav>
    </header>
    ${me.role === "admin" ? html`<${TABS[current]} me=${me} />` : html`<p class="empty">${t("admin.notAllowed")}</p>`}
  </div>`;
}
