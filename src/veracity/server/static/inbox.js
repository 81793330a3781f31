// The inbox: the answers that wait for a person, and those that were decided, with the one that is open beside them.

import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { ago, dateTime, t } from "./i18n.js";
import { Icon } from "./icons.js";
import { go, goQuietly } from "./routes.js";
import { visible } from "./visible.js";
import { Approval, canDecide } from "./inbox-approval.js";
import { KeysHelp, shortcut, useKeys, useSwitch } from "./inbox-keys.js";
import { listed, useApprovals } from "./inbox-store.js";
import { nameOf, scoreOf } from "./inbox-words.js";
import { points } from "./points.js";

const TABS = ["waiting", "decided"];
const TICK = 30000; // milliseconds after which "2 minutes ago" is no longer true
const pathOf = (id) => `/inbox/${encodeURIComponent(id)}`;

export function Inbox({ me, route }) {
  const [tab, setTab] = useState("waiting");
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [areKeysOn, setKeysOn] = useSwitch();
  const list = useRef(null);
  const store = useApprovals(tab);
  const openId = route.id;
  const open = store.known?.get(openId);
  const missing = useOpened(openId, open, store, setTab);
  const rows = listed(store.known, tab, openId);
  useTick();

  const move = (step) => {
    const at = rows.findIndex((one) => one.approval_id === openId);
    if (at >= 0) {
      const to = rows[at + step];
      return to ? goQuietly(pathOf(to.approval_id)) : undefined;
    }
    const to = rows[from(rows, step)];
    return to ? go(pathOf(to.approval_id)) : undefined;
  };
  const back = () => {
    if (!openId) return false;
    go("/inbox");
    return setTimeout(() => focusRow(list.current, openId));
  };
  useKeys({ j: () => move(1), k: () => move(-1), "?": () => setHelpOpen(true), ...(open ? {} : { Escape: back }) });

  return html`
    <div class=${`view inbox ${openId ? "inbox-opened" : ""} ${areKeysOn ? "" : "inbox-keyless"}`}>
      <div class="inbox-list" ref=${list}>
        <div class="view-head"><h1>${t("shell.inbox")}</h1>
          <button type="button" class="quiet small inbox-keys-button" aria-keyshortcuts=${shortcut("?")} onClick=${() => setHelpOpen(true)}>
            ${t("inbox.keys")}<kbd aria-hidden="true">?</kbd></button></div>
        <p class="muted small">${t(introFor(me))}</p>
        <${Tabs} tab=${tab} setTab=${setTab} />
        <${List} me=${me} store=${store} rows=${rows} tab=${tab} openId=${openId} />
      </div>
      <div class="inbox-detail">
        <h1 class="visually-hidden">${t("shell.inbox")}</h1>
        ${open ? html`<${Approval} key=${openId} me=${me} approval=${open} newer=${newerThan(open, store.known)} merge=${store.merge}
            next=${nextOf(rows, openId)} onBack=${back} />`
          : missing ? html`<${Missing} text=${missing} onBack=${back} />`
          : html`<${Choose} hasRows=${rows.length > 0} isLoading=${Boolean(openId)} />`}
      </div>
      ${isHelpOpen && html`<${KeysHelp} canDecide=${canDecide(me)} isOn=${areKeysOn} setOn=${setKeysOn} onClose=${() => setHelpOpen(false)} />`}
    </div>`;
}

function introFor(me) {
  if (me.policy === "never") return "inbox.intro.never";
  if (!canDecide(me)) return "inbox.intro.own";
  return me.policy === "always" ? "inbox.intro.always" : "inbox.intro";
}

/** Looks up the one that the address names; what is decided already is shown among the decided. */
function useOpened(openId, open, store, setTab) {
  const [missing, setMissing] = useState("");
  useEffect(() => {
    setMissing("");
    if (!openId || open) return;
    store.lookUp(openId).then(
      (found) => found.state !== "pending" && setTab("decided"),
      (refused) => setMissing(refused.status === 404 ? t("inbox.gone") : refused.message),
    );
  }, [openId]);
  return missing;
}

/** Draws anew from time to time, for what is told as "a minute ago". */
function useTick() {
  const [, setTicks] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTicks((ticks) => ticks + 1), TICK);
    return () => clearInterval(timer);
  }, []);
}

function newerThan(open, known) {
  return [...known.values()].find((one) => one.run_id === open.run_id && one.attempt > open.attempt);
}

function nextOf(rows, openId) {
  const at = rows.findIndex((one) => one.approval_id === openId);
  const next = rows[at + 1] ?? rows[at - 1];
  return next?.state === "pending" ? `#${pathOf(next.approval_id)}` : "";
}

/** Which one a key opens where none is: the neighbour of the one that has the focus, else the first or the last. */
function from(rows, step) {
  const at = rows.findIndex((one) => one.approval_id === document.activeElement?.dataset.id);
  if (at < 0) return step > 0 ? 0 : rows.length - 1;
  return Math.min(Math.max(at + step, 0), rows.length - 1);
}

function focusRow(list, id) {
  const links = [...list.querySelectorAll(".inbox-row")];
  const to = links.find((link) => link.dataset.id === id) ?? links[0];
  to?.focus();
  to?.scrollIntoView({ block: "nearest" });
}

function Tabs({ tab, setTab }) {
  return html`<div class="inbox-tabs" role="group" aria-label=${t("inbox.tabs")}>
    ${TABS.map((name) => html`<button type="button" key=${name} aria-pressed=${tab === name} onClick=${() => setTab(name)}>
      ${t(`inbox.tab.${name}`)}</button>`)}
  </div>`;
}

function List({ me, store, rows, tab, openId }) {
  if (store.problem && !rows.length) {
    return html`<div class="notice bad" role="alert"><span>${store.problem.message}</span>
      <button type="button" class="small" onClick=${store.load}>${t("inbox.retry")}</button></div>`;
  }
  if (!store.known) return html`<p class="muted">${t("inbox.loading")}</p>`;
  if (!rows.length) return html`<${Empty} me=${me} tab=${tab} />`;
  return html`<ul class="inbox-rows" aria-label=${t("inbox.list")}>
    ${rows.map((one) => html`<li key=${one.approval_id}><${Row} me=${me} approval=${one} isOpen=${one.approval_id === openId} /></li>`)}
  </ul>`;
}

function Row({ me, approval, isOpen }) {
  const { draft, state, decision } = approval;
  const isDecided = state !== "pending";
  const tone = { approved: "good", rejected: "bad", superseded: "" }[state] ?? (approval.why === "low_score" ? "warn" : "");
  const label = isDecided ? t(`inbox.state.${decision?.edit ? "edited" : state}`) : t(`inbox.short.${approval.why}`);
  const at = isDecided ? decision?.at ?? approval.created : approval.created;
  return html`
    <a class="inbox-row" href=${`#${pathOf(approval.approval_id)}`} data-id=${approval.approval_id} data-state=${state}
      aria-current=${isOpen ? "true" : null}>
      <span class="inbox-row-question" lang=${draft.language || null}>${visible(approval.question) || t("inbox.removed")}</span>
      <span class="inbox-row-facts small muted">
        <span class="inbox-row-what"><span class=${`badge ${tone}`}>${label}</span>
        ${draft.score !== null && html`<span class="number">${t("inbox.score", { score: scoreOf(draft, me) })}</span>`}
        ${approval.attempt > 1 && html`<span>${t("inbox.attempt", { number: approval.attempt })}</span>`}
        <span>${isDecided && decision ? nameOf(me, decision.by) : nameOf(me, approval.user)}</span></span>
        <time datetime=${at} title=${dateTime(at)}>${ago(at)}</time>
      </span>
    </a>`;
}

function Empty({ me, tab }) {
  const isDecided = tab === "decided";
  const text =
    isDecided ? t("inbox.empty.decided.text")
    : me.policy === "ask" ? t("inbox.empty.text", { threshold: points(me.threshold) })
    : t(`inbox.empty.policy.${me.policy}`);
  return html`<div class="empty inbox-empty"><${Icon} name=${isDecided ? "inbox" : "check"} size=${28} />
    <h2>${t(isDecided ? "inbox.empty.decided.title" : "inbox.empty.title")}</h2><p>${text}</p></div>`;
}

function Choose({ hasRows, isLoading }) {
  if (isLoading) return html`<p class="empty">${t("inbox.loading")}</p>`;
  if (!hasRows) return null;
  return html`<div class="empty inbox-choose"><${Icon} name="inbox" size=${28} /><p>${t("inbox.choose")}</p>
    <p class="small inbox-choose-keys">${withKey(t("inbox.choose.keys"), "j")}</p></div>`;
}

function withKey(sentence, key) {
  const [before, after] = sentence.split("{key}");
  return html`${before}<kbd>${key}</kbd>${after}`;
}

function Missing({ text, onBack }) {
  return html`<div class="empty stack"><p role="alert">${text}</p>
    <p><button type="button" onClick=${onBack}>${t("inbox.back")}</button></p></div>`;
}
