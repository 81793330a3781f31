// The settings in force with their source, the models, and what is wrong with them. They are changed elsewhere.
import { html, useState } from "../lib/preact.js";
import { ErrorNotice, Loading, withValue } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get } from "../lib/http.js";
import { hasText, nameOf, t } from "../lib/i18n.js";
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
      <dd><${Value} name=${`models.${role.role}`} value=${role.model} /></dd></div>`)}
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
    const { name, variable, description, source } = setting;
    const whole = fold([name, variable, description, describe(setting), shownValue(setting), t(`admin.section.${sectionOf(setting)}`), t(`admin.source.${source}`)].join(" "));
    return words.every((word) => whole.includes(word));
  });
  const changed = found.filter((setting) => setting.is_changed);
  return html`<section class="admin-section"><h2>${t("admin.tab.settings")}</h2>
    <input type="search" value=${text} onInput=${withValue(setText)} aria-label=${t("admin.search")} placeholder=${t("admin.search")} autocomplete="off" />
    <p class="small muted" role="status">${t("admin.found", { n: found.length, changed: changed.length })}</p>
    ${groupSettings(found).map(([section, members]) => html`<div key=${section}><h3>${nameOf("admin.section.", section)}</h3>
      <ul class="admin-settings">${members.map((setting) => html`<${Setting} key=${setting.name} setting=${setting} />`)}</ul></div>`)}</section>`;
}

/** The section of veracity.toml. @param {SettingState} setting */
const sectionOf = ({ name }) => name.split(".")[0];

/** Those that were changed, then the others by section. @param {SettingState[]} settings @returns {[string, SettingState[]][]} */
function groupSettings(settings) {
  /** @type {Map<string, SettingState[]>} */
  const groups = new Map();
  for (const setting of settings) {
    const group = setting.is_changed ? "changed" : sectionOf(setting);
    groups.set(group, [...groups.get(group) ?? [], setting]);
  }
  return [...groups];
}

/** @param {{ setting: SettingState }} props */
function Setting({ setting }) {
  const { name, value, source, variable, is_changed: isChanged } = setting;
  return html`<li>
    <span class="admin-setting"><code>${name}</code>
      <span class="small muted">${describe(setting)}</span></span>
    <span class="admin-value"><${Value} name=${name} value=${value} /></span>
    <span class=${`badge ${isChanged ? "accent" : ""}`} title=${source === "environment" ? variable : null}>${t(`admin.source.${source}`)}</span>
  </li>`;
}

/** @param {SettingState} setting */
const describe = ({ name }) => t(`admin.setting.${name}`);

/** @param {{ name: string, value: SettingState["value"] }} props */
function Value({ name, value }) {
  const shown = shownValue({ name, value });
  return isNone(value) && shown !== value ? html`<span class="muted">${shown}</span>` : html`<code>${printable(shown)}</code>`;
}

/** The value, or what is used without one. @param {{ name: string, value: SettingState["value"] }} setting */
function shownValue({ name, value }) {
  const shown = formatValue(value);
  if (isNone(value) && hasText(`admin.none.${name}`)) return t("admin.none", { instead: t(`admin.none.${name}`) });
  return shown || t("admin.unset");
}

/** @param {SettingState["value"]} value */
const isNone = (value) => !formatValue(value) || value === "none";

/** @param {SettingState["value"]} value */
function formatValue(value) {
  return Array.isArray(value) ? value.join(", ") : value === null ? "" : String(value);
}
