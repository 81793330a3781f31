// Filters of the inbox: by reason, by person, by who should decide, and by age. They appear once there is something to choose from.
import { html } from "../lib/preact.js";
import { withValue } from "../lib/components.js";
import { t } from "../lib/i18n.js";
import { printable } from "../lib/text.js";
/** @import { Approval, Me } from "../lib/types.d.ts" */

/** @typedef {{ why: string, user: string, assignee: string, age: string }} FilterValues "" chooses all */

/** @type {FilterValues} */
export const NO_FILTERS = { why: "", user: "", assignee: "", age: "" };
const DAY = 86400_000; // milliseconds
/** @type {Record<string, (age: number) => boolean>} */
const AGES = { today: (age) => age < DAY, older: (age) => age >= DAY };

/** @param {Approval} approval @param {FilterValues} filters */
export function matchesFilters({ why, user, assignee, created }, filters) {
  const age = Date.now() - Date.parse(created);
  return (!filters.why || why === filters.why) && (!filters.user || user === filters.user)
    && (!filters.assignee || assignee === filters.assignee) && (!filters.age || AGES[filters.age](age));
}

/** @param {{ me: Me, approvals: Approval[], filters: FilterValues, setFilters: (filters: FilterValues) => void }} props */
export function Filters({ me, approvals, filters, setFilters }) {
  const isActive = Object.values(filters).some(Boolean);
  if (approvals.length < 2 && !isActive) return null;
  const choose = (/** @type {keyof FilterValues} */ name) => withValue((value) => setFilters({ ...filters, [name]: value }));
  const reasons = countBy(approvals.map(({ why }) => why));
  const users = countBy(approvals.map(({ user }) => user));
  return html`<div class="inbox-filters" role="group" aria-label=${t("inbox.filters")}>
    <${Choice} name="why" value=${filters.why} onChoose=${choose("why")} counts=${reasons} label=${(/** @type {string} */ why) => t(`inbox.short.${why}`)} />
    <${Choice} name="user" value=${filters.user} onChoose=${choose("user")} counts=${users} label=${printable} />
    <${Choice} name="assignee" value=${filters.assignee} onChoose=${choose("assignee")} counts=${countBy(approvals.flatMap(({ assignee }) => assignee || []))} least=${1}
      label=${(/** @type {string} */ name) => t("inbox.row.assignee", { name: name === me.user ? t("inbox.decided.you") : printable(name) })} />
    <${Choice} name="age" value=${filters.age} onChoose=${choose("age")} label=${(/** @type {string} */ age) => t(`inbox.filter.age.${age}`)}
      counts=${new Map(Object.keys(AGES).map((age) => [age, approvals.filter((approval) => matchesFilters(approval, { ...NO_FILTERS, age })).length]))} />
  </div>`;
}

/** @param {{ name: string, value: string, counts: Map<string, number>, label: (value: string) => string, onChoose: (event: Event) => void, least?: number }} props */
function Choice({ name, value, counts, label, onChoose, least = 2 }) {
  if ([...counts.values()].filter(Boolean).length < least && !value) return null;
  return html`<label><span class="visually-hidden">${t(`inbox.filter.${name}`)}</span>
    <select class="small" value=${value} onChange=${onChoose}>
      <option value="">${t(`inbox.filter.${name}.all`)}</option>
      ${[...counts].map(([choice, count]) => html`<option key=${choice} value=${choice} selected=${choice === value}>${label(choice)} (${count})</option>`)}
    </select></label>`;
}

/** @param {string[]} values */
function countBy(values) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  values.forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
  return counts;
}
