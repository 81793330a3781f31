// The inbox: pending and decided approvals in a list, and the open approval next to it.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { ErrorNotice } from "../lib/components.js";
import { Verdict } from "../answer/verdict.js";
import { ago, dateTime, points, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { approvalLink, go, replaceRoute } from "../lib/routes.js";
import { printable } from "../lib/text.js";
import { Approval, canDecide, editedAnswer } from "./approval.js";
import { BulkBar, SelectAll } from "./bulk.js";
import { Filters, matchesFilters, NO_FILTERS } from "./filters.js";
import { KeysHelp, shortcut, useKeys, useKeysSetting } from "./keys.js";
import { listApprovals, useApprovals } from "./store.js";
import { UndoBar, useUndo } from "./undo.js";
/** @import { Approval as ApprovalData, Me, Route } from "../lib/types.d.ts" */
/** @import { Store, Tab } from "./store.js" */

/** @type {Tab[]} */
const TABS = ["waiting", "decided"];
const DOUBTS = new Set(["low_score", "low_grounding", "review_failed", "uncertain"]);
const REDRAW_INTERVAL = 30000; // milliseconds, for "2 minutes ago"
const pathOf = (/** @type {ApprovalData} */ { approval_id: id }) => approvalLink(id).slice(1);

/** @param {{ me: Me, route: Route }} props */
export function Inbox({ me, route }) {
  const [tab, setTab] = useState(/** @type {Tab} */ ("waiting"));
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [areKeysOn, setKeysOn] = useKeysSetting();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const store = useApprovals(tab);
  const openId = route.id;
  const open = store.approvals?.get(openId);
  const missing = useMissing(openId, open, store, setTab);
  const [filters, setFilters] = useState(NO_FILTERS);
  const listed = listApprovals(store.approvals, tab, openId);
  const rows = listed.filter((approval) => approval.approval_id === openId || matchesFilters(approval, filters));
  const [selection, setSelection] = useState(/** @type {Set<string>} */ (new Set()));
  const selected = rows.filter(({ approval_id: id, state }) => state === "pending" && selection.has(id));
  const undo = useUndo(store.merge, me.undo_seconds, (approval) => go(pathOf(approval)));
  useRedraw();

  const decided = (/** @type {ApprovalData[]} */ approvals) => {
    setSelection(new Set());
    if (approvals.length && me.undo_seconds) undo.hold(approvals);
  };
  const advance = (/** @type {ApprovalData} */ approval) => {
    const next = nextLink(rows, approval.approval_id);
    decided([approval]);
    if (next) replaceRoute(next.slice(1));
  };
  const move = (/** @type {number} */ step) => {
    const at = rows.findIndex(({ approval_id: id }) => id === openId);
    const next = rows[at >= 0 ? at + step : indexFromFocus(rows, step)];
    if (!next) return;
    if (at >= 0) replaceRoute(pathOf(next));
    else go(pathOf(next));
  };
  const back = () => {
    if (!openId) return false;
    go("/inbox");
    setTimeout(() => focusRow(list.current, openId));
    return true;
  };
  useKeys({ j: () => move(1), k: () => move(-1), "?": () => setHelpOpen(true), ...(open ? {} : { Escape: back }) });

  return html`
    <div class=${`view inbox ${openId ? "inbox-opened" : ""} ${areKeysOn ? "" : "inbox-keyless"}`}>
      <div class="inbox-list" ref=${list}>
        <div class="view-head"><h1>${t("shell.inbox")}</h1>
          <button type="button" class="quiet small inbox-keys-button" aria-keyshortcuts=${shortcut("?")} onClick=${() => setHelpOpen(true)}>
            ${t("inbox.keys")}<kbd aria-hidden="true">?</kbd></button></div>
        ${tab === "waiting" && html`<p class="muted small">${t(introKey(me))}</p>`}
        ${me.calibration && html`<p class="muted small inbox-calibration">${calibrationText(me.calibration)}</p>`}
        <div class="inbox-tabs" role="group" aria-label=${t("inbox.tabs")}>
          ${TABS.map((name) => html`<button type="button" key=${name} aria-pressed=${tab === name} onClick=${() => setTab(name)}>
            ${t(`inbox.tab.${name}`)}</button>`)}
        </div>
        <${Filters} me=${me} approvals=${listed} filters=${filters} setFilters=${setFilters} />
        ${canDecide(me) && html`<${SelectAll} rows=${rows} selected=${selected} setSelection=${setSelection} />
          <${BulkBar} me=${me} selected=${selected} merge=${store.merge} onDecided=${decided} onClear=${() => setSelection(new Set())} />`}
        ${listed.length > 0 && !rows.length && html`<p class="empty">${t("inbox.filter.nothing")}</p>`}
        <${List} me=${me} store=${store} rows=${rows} isFiltered=${rows.length < listed.length} tab=${tab} openId=${openId}
          selection=${selection} setSelection=${setSelection} />
      </div>
      <div class="inbox-detail">
        <h1 class="visually-hidden">${t("shell.inbox")}</h1>
        ${open ? html`<${Approval} key=${openId} me=${me} approval=${open} newer=${findNewer(open, store.approvals)} merge=${store.merge}
            next=${nextLink(rows, openId)} onBack=${back} onDecided=${advance} />`
          : missing ? html`<${Missing} text=${missing} onBack=${back} />`
          : html`<${NothingOpen} hasRows=${rows.length > 0} isLoading=${Boolean(openId)} />`}
      </div>
      <${UndoBar} held=${undo.held} problem=${undo.problem} onUndo=${undo.undo} onClose=${undo.clear} />
      ${isHelpOpen && html`<${KeysHelp} canDecide=${canDecide(me)} isOn=${areKeysOn} setOn=${setKeysOn} onClose=${() => setHelpOpen(false)} />`}
    </div>`;
}

/** @param {NonNullable<Me["calibration"]>} statement */
function calibrationText({ certificate, languages, separate, withdrawn }) {
  if (withdrawn) return t("inbox.calibration.withdrawn", { reason: withdrawn });
  const { threshold, risk, confidence, labels } = certificate;
  const percent = (/** @type {number} */ share) => `${Math.round(1000 * share) / 10}`;
  const own = separate ? Object.entries(languages).map(([language, { threshold }]) => `${language} ${points(threshold)}`) : [];
  const shown = own.length ? `${own.join(", ")}, ${t("inbox.calibration.others")} ${points(threshold)}` : points(threshold);
  return t("inbox.calibration", { threshold: shown, risk: percent(risk), confidence: percent(confidence), labels });
}

/** @param {Me} me */
function introKey(me) {
  if (me.policy === "never") return "inbox.intro.never";
  if (!canDecide(me)) return "inbox.intro.own";
  return me.policy === "always" ? "inbox.intro.always" : "inbox.intro";
}

/**
 * Loads the approval of the address, and switches to its tab. Returns why it cannot be shown, or "".
 * @param {string} openId
 * @param {ApprovalData | undefined} open
 * @param {Store} store
 * @param {(tab: Tab) => void} setTab
 */
function useMissing(openId, open, store, setTab) {
  const [missing, setMissing] = useState("");
  useEffect(() => {
    setMissing("");
    if (!openId || open) return;
    store.loadOne(openId).then(
      (loaded) => loaded.state !== "pending" && setTab("decided"),
      (error) => setMissing(error.status === 404 ? t("inbox.gone") : error.message),
    );
  }, [openId]);
  return missing;
}

function useRedraw() {
  const [, setCount] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setCount((count) => count + 1), REDRAW_INTERVAL);
    return () => clearInterval(timer);
  }, []);
}

/** A later approval of the same run. @param {ApprovalData} open @param {Store["approvals"]} approvals */
function findNewer(open, approvals) {
  return [...(approvals?.values() ?? [])].find((other) => other.run_id === open.run_id && other.attempt > open.attempt);
}

/** @param {ApprovalData[]} rows @param {string} openId */
function nextLink(rows, openId) {
  const at = rows.findIndex(({ approval_id: id }) => id === openId);
  const next = rows[at + 1] ?? rows[at - 1];
  return next?.state === "pending" ? approvalLink(next.approval_id) : "";
}

/**
 * The row a key opens when none is open: next to the focused row, else the first or last.
 * @param {ApprovalData[]} rows
 * @param {number} step
 */
function indexFromFocus(rows, step) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.id;
  const at = rows.findIndex(({ approval_id: id }) => id === focused);
  if (at < 0) return step > 0 ? 0 : rows.length - 1;
  return Math.min(Math.max(at + step, 0), rows.length - 1);
}

/** @param {HTMLElement | null} list @param {string} id */
function focusRow(list, id) {
  const links = /** @type {HTMLElement[]} */ ([...(list?.querySelectorAll(".inbox-row") ?? [])]);
  const link = links.find((link) => link.dataset.id === id) ?? links[0];
  link?.focus();
  link?.scrollIntoView({ block: "nearest" });
}

/**
 * @param {{ me: Me, store: Store, rows: ApprovalData[], isFiltered: boolean, tab: Tab, openId: string, selection: Set<string>,
 *   setSelection: (selection: Set<string>) => void }} props
 */
function List({ me, store, rows, isFiltered, tab, openId, selection, setSelection }) {
  if (store.error && !rows.length) return html`<${ErrorNotice} text=${store.error.message} onRetry=${store.load} />`;
  if (!store.approvals) return html`<p class="muted">${t("shell.loading")}</p>`;
  if (!rows.length) return isFiltered ? null : html`<${Empty} me=${me} tab=${tab} />`;
  return html`<ul class="inbox-rows" aria-label=${t("inbox.list")}>
    ${rows.map((approval) => html`<li key=${approval.approval_id}>
      ${canDecide(me) && rows.length > 1 && approval.state === "pending" && html`<${Selector} approval=${approval} selection=${selection} setSelection=${setSelection} />`}
      <${Row} me=${me} approval=${approval} isOpen=${approval.approval_id === openId} /></li>`)}
  </ul>`;
}

/** @param {{ approval: ApprovalData, selection: Set<string>, setSelection: (selection: Set<string>) => void }} props */
function Selector({ approval: { approval_id: id, question }, selection, setSelection }) {
  const toggle = () => {
    const changed = new Set(selection);
    if (!changed.delete(id)) changed.add(id);
    setSelection(changed);
  };
  return html`<input type="checkbox" class="inbox-select" checked=${selection.has(id)} onChange=${toggle}
    aria-label=${t("inbox.bulk.select", { question: printable(question) })} />`;
}

/** @param {{ me: Me, approval: ApprovalData, isOpen: boolean }} props */
function Row({ me, approval, isOpen }) {
  const { draft, state, decision } = approval;
  const isDecided = state !== "pending";
  const tone = { approved: "good", rejected: "bad", sent_back: "", expired: "warn", superseded: "", pending: DOUBTS.has(approval.why) ? "warn" : "" }[state];
  const label = isDecided ? t(`inbox.state.${decision?.edit ? "edited" : state}`) : t(`inbox.short.${approval.why}`);
  const time = (isDecided && decision?.at) || approval.created;
  const person = isDecided && decision ? decision.by : approval.user;
  return html`
    <a class="inbox-row" href=${approvalLink(approval.approval_id)} data-id=${approval.approval_id} data-state=${state}
      aria-current=${isOpen ? "true" : null}>
      <span class="inbox-row-question" lang=${draft.language || null}>${printable(approval.question) || t("inbox.removed")}</span>
      <span class="inbox-row-facts small muted">
        <span class="inbox-row-labels"><span class=${`badge ${tone}`}>${label}</span>
        ${draft.text && html`<${Verdict} answer=${editedAnswer(approval) ?? draft} threshold=${me.threshold} isShort />`}
        ${approval.attempt > 1 && html`<span>${t("inbox.attempt", { number: approval.attempt })}</span>`}
        ${!isDecided && approval.assignee && html`<span>${t("inbox.row.assignee", { name: approval.assignee === me.user ? t("inbox.decided.you") : printable(approval.assignee) })}</span>`}
        ${decision?.verdict !== "expire" && html`<span>${t(isDecided && decision ? "inbox.row.decider" : "inbox.row.asker", { name: person === me.user ? t("inbox.decided.you") : printable(person) })}</span>`}</span>
        <time datetime=${time} title=${dateTime(time)}>${ago(time)}</time>
      </span>
    </a>`;
}

/** @param {{ me: Me, tab: Tab }} props */
function Empty({ me, tab }) {
  const isDecided = tab === "decided";
  const text =
    isDecided ? t("inbox.empty.decided.text")
    : me.policy === "ask" ? t("inbox.empty.text", { threshold: points(me.threshold) })
    : t(`inbox.empty.policy.${me.policy}`);
  return html`<div class="empty inbox-empty"><${Icon} name=${isDecided ? "inbox" : "check"} size=${28} />
    <h2>${t(isDecided ? "inbox.empty.decided.title" : "inbox.empty.title")}</h2><p>${text}</p></div>`;
}

/** @param {{ hasRows: boolean, isLoading: boolean }} props */
function NothingOpen({ hasRows, isLoading }) {
  if (isLoading) return html`<p class="empty">${t("shell.loading")}</p>`;
  if (!hasRows) return null;
  const [before, after] = t("inbox.choose.keys").split("{key}");
  return html`<div class="empty inbox-choose"><${Icon} name="inbox" size=${28} /><p>${t("inbox.choose")}</p>
    <p class="small inbox-choose-keys">${before}<kbd>j</kbd>${after}</p></div>`;
}

/** @param {{ text: string, onBack: () => void }} props */
function Missing({ text, onBack }) {
  return html`<div class="empty stack"><p role="alert">${text}</p>
    <p><button type="button" onClick=${onBack}>${t("inbox.back")}</button></p></div>`;
}
