// The settings in force with their source, the models, and what is wrong with them. They are changed elsewhere.
import { html, useState } from "../lib/preact.js";
import { ErrorNotice, Loading, withValue } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { nameOf, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { fold, printable } from "../lib/text.js";
/** @import { RoleState, SettingState, Setup } from "../lib/types.d.ts" */

export function Settings() {
  const { value: setup, error, reload } = useLoaded(() => /** @type {Promise<Setup>} */ (get("/api/settings")), []);
  if (error) return html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`;
  if (!setup) return html`<${Loading} text=${t("shell.loading")} />`;
  return html`<p class="muted">${t("admin.settings.intro")} <code>${printable(setup.workspace)}/veracity.toml</code></p>
    <${Problems} problems=${setup.problems} />
    <${Models} setup=${setup} />
    <${SettingList} settings=${setup.settings} />`;
}

/** @param {{ problems: string[] }} props */
function Problems({ problems }) {
  if (!problems.length) return html`<p class="notice good"><${Icon} name="check" /> ${t("admin.problems.none")}</p>`;
  return html`<div class="notice warn"><${Icon} name="warn" /><div><strong>${t("admin.problems", { n: problems.length })}</strong>
    <ul class="admin-problems" lang="en">${problems.map((problem) => html`<li>${printable(problem)}</li>`)}</ul></div></div>`;
}

/** @param {{ setup: Setup }} props */
function Models({ setup }) {
  return html`<section class="admin-section"><h2>${t("admin.models")}</h2>
    <dl class="card admin-models">${setup.roles.map((role) => html`<div><dt>${describeRole(role)}</dt>
      <dd>${role.model ? html`<code>${printable(role.model)}</code>` : html`<span class="muted">${t("admin.models.none")}</span>`}</dd></div>`)}
      ${setup.servers.map((server) => html`<div><dt>${t("admin.server", { name: server.name })}</dt>
        <dd><code>${printable(server.url)}</code>${server.key_env && html` <span class=${`badge ${server.has_key ? "good" : "bad"}`}>
          ${t(server.has_key ? "admin.key.set" : "admin.key.missing", { name: server.key_env })}</span>`}</dd></div>`)}</dl></section>`;
}

/** @param {RoleState} role */
function describeRole({ role, metrics }) {
  const name = nameOf("admin.model.", role);
  return metrics.length ? t("admin.model.of", { name, metrics: metrics.join(", ") }) : name;
}

/** @param {{ settings: SettingState[] }} props */
function SettingList({ settings }) {
  const [text, setText] = useState("");
  const words = fold(text).split(/\s+/).filter(Boolean);
  const found = settings.filter((setting) => {
    const whole = fold(`${setting.name} ${setting.variable} ${setting.description} ${formatValue(setting.value)} ${t(`admin.source.${setting.source}`)}`);
    return words.every((word) => whole.includes(word));
  });
  return html`<section class="admin-section"><h2>${t("admin.tab.settings")}</h2>
    <input type="search" value=${text} onInput=${withValue(setText)} aria-label=${t("admin.search")} placeholder=${t("admin.search")} autocomplete="off" />
    <p class="small muted" role="status">${t("admin.found", { n: found.length, changed: found.filter((setting) => setting.is_changed).length })}</p>
    <ul class="admin-settings">${found.map((setting) => html`<${Setting} key=${setting.name} setting=${setting} />`)}</ul></section>`;
}

/** @param {{ setting: SettingState }} props */
function Setting({ setting }) {
  const { name, value, source, variable, description, is_changed: isChanged } = setting;
  const shown = formatValue(value);
  return html`<li>
    <span class="admin-setting"><code>${name}</code><span class="small muted" lang="en">${description.replaceAll("`", "")}</span></span>
    <span class="admin-value">${shown ? html`<code>${printable(shown)}</code>` : html`<span class="muted">${t("admin.unset")}</span>`}</span>
    <span class=${`badge ${isChanged ? "accent" : ""}`} title=${source === "environment" ? variable : null}>${t(`admin.source.${source}`)}</span>
  </li>`;
}

/** @param {SettingState["value"]} value */
function formatValue(value) {
  return Array.isArray(value) ? value.join(", ") : value === null ? "" : String(value);
}
