// The ask view: a conversation with its questions and answers, and the source panel. The first question gives it its
// address (#/c/ID).
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/preact.js";
import { AnswerSource } from "../answer/source.js";
import { ExportDialog } from "../conversations/dialogs.js";
import { NotFound } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { get, post } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { conversationLink, readRoute, replaceRoute } from "../lib/routes.js";
import { readTyped, storeTyped } from "../lib/storage.js";
import { Composer } from "./composer.js";
import { Chips, DocumentPicker, useOnly } from "./document-picker.js";
import { Examples, NoDocuments, useHasDocuments } from "./examples.js";
import { isRunning, newRun, useRun } from "./run-state.js";
import { Failure, Turn } from "./turn.js";
/** @import { Me, OnCite, OpenCitation, PastTurn, Route, Run } from "../lib/types.d.ts" */

/**
 * @typedef {{ key: number, idempotencyKey: string, body: { question: string, conversation: string, only: string[] } }} Asked a question of this visit
 * @typedef {{ me: Me, onCite: OnCite, onAskAgain: (run: Run) => void, onEdit: (run: Run) => void, onFollowUp: (question: string) => void }} TurnProps
 */

const FIRST_TURNS = 20; // earlier turns that are loaded at first
const MAX_TURNS = 1000; // the server's limit
const REDUCED_MOTION = window.matchMedia("(prefers-reduced-motion: reduce)");

/** Each navigation to #/ starts a new conversation. @param {{ me: Me, route: Route }} props */
export function Ask({ me, route }) {
  const started = useRef(/** @type {{ route?: Route, id: string }} */ ({ id: "" }));
  if (!route.id && started.current.route !== route) started.current = { route, id: newId() };
  const id = route.id || started.current.id;
  return html`<${Conversation} key=${id} me=${me} conversation=${id} address=${route.id} isNew=${id === started.current.id} />`;
}

/** @param {{ me: Me, conversation: string, address: string, isNew: boolean }} props */
function Conversation({ me, conversation, address, isNew }) {
  const past = usePastTurns(isNew ? "" : conversation);
  const hasDocuments = useHasDocuments();
  const hasNone = hasDocuments === false;
  const [chosen, setOnly] = useOnly(conversation);
  const [lastOnly, setLastOnly] = useState(/** @type {string[]} */ ([])); // of the last earlier turn
  const only = chosen ?? lastOnly;
  const [asked, setAsked] = useState(/** @type {Asked[]} */ ([]));
  const [running, setRunning] = useState(/** @type {Run | null} */ (null)); // the last run, until it has ended
  const [open, setOpen] = useState(/** @type {OpenCitation | null} */ (null));
  const [isExporting, setExporting] = useState(false);
  const [fill, setFill] = useState(/** @type {{ text: string } | null} */ (null));
  const lastKey = useRef(0);
  const isEmpty = isNew && !asked.length;
  const isMissing = !isNew && past.isLoaded && !past.problem && !past.turns.length && !asked.length;

  const send = (/** @type {string} */ question, replacedKey = 0, limits = only) => {
    const refused = asked.find(({ key }) => key === replacedKey);
    const idempotencyKey = refused?.idempotencyKey ?? newId(); // the server may have accepted it: then that run is followed
    lastKey.current += 1;
    const turn = { key: lastKey.current, idempotencyKey, body: { question, conversation, only: limits } };
    setAsked((asked) => [...asked.filter(({ key }) => key !== replacedKey), turn]);
    setRunning(newRun(question));
    setOpen(null);
  };
  const stop = () => { // the run's stream reports its end
    setRunning(newRun());
    post(`/api/runs/${encodeURIComponent(running?.runId ?? "")}/stop`).catch(() => setRunning(running));
  };
  const askAgain = (/** @type {Run} */ run, key = 0) => { // replaces a question that the server did not accept
    if (!running) send(run.question, run.runId ? 0 : key, run.only);
  };
  const fillIn = (/** @type {string} */ text) => setFill({ text });
  const edit = (/** @type {Run} */ run) => { // the text goes back into the field, and a new turn follows
    fillIn(run.question);
    setOnly(run.only);
  };
  const showAddress = (/** @type {Run} */ run) => { // once the server has accepted the first question
    const { view, id } = readRoute();
    if (run.runId && view === "ask" && !id) replaceRoute(conversationLink(conversation).slice(1));
  };
  /** @type {OnCite} */
  const cite = (citation, answer) => setOpen({ citation, answer });
  const actions = { onCite: cite, onEdit: edit, onFollowUp: fillIn };

  if (isMissing) return html`<${NotFound} title=${t("ask.noConversation")} lead=${t("ask.noConversation.lead")} />`;
  return html`<div class="ask-layout" data-source=${Boolean(open)} data-empty=${isEmpty}>
    <div class="ask-column">
      ${isEmpty ? html`<div class="ask-welcome"><h1>${t("ask.title")}</h1><p class="muted">${t("ask.lead")}</p></div>`
        : html`<h1 class="visually-hidden">${t("shell.ask")}</h1>`}
      <${PastTurns} past=${past} isLatest=${!asked.length} me=${me} onRunning=${asked.length ? null : setRunning} onLimits=${setLastOnly} ...${actions} onAskAgain=${askAgain} />
      ${asked.map(({ key, ...turn }) => html`<${NewTurn} key=${key} ...${turn} me=${me} address=${address} isLast=${key === asked.at(-1)?.key}
        onAccepted=${showAddress} onRunning=${setRunning} ...${actions} onAskAgain=${(/** @type {Run} */ run) => askAgain(run, key)} />`)}
      <div class="ask-foot-bar">
        <div class="ask-limits row">
          ${!isEmpty && html`<a class="button small ask-new" href="#/" title=${t("shell.new")}><${Icon} name="plus" size=${16} /> <span class="ask-label">${t("shell.new")}</span></a>
            <button type="button" class="small ask-export" title=${t("conversations.export")} onClick=${() => setExporting(true)}><${Icon} name="download" size=${16} /> <span class="ask-label">${t("conversations.export")}</span></button>`}
          ${!hasNone && html`<${DocumentPicker} only=${only} onChange=${setOnly} />`}
          <${Chips} only=${only} onRemove=${(/** @type {string} */ path) => setOnly(only.filter((other) => other !== path))} /></div>
        <${Composer} conversation=${address} isFollowUp=${!isEmpty} isBusy=${Boolean(running)} isBlocked=${hasNone} fill=${fill}
          onSend=${send} onStop=${running?.runId && stop} />
      </div>
      ${hasNone ? html`<${NoDocuments} me=${me} />`
        : isEmpty && hasDocuments && html`<${Examples} onChoose=${fillIn} />`}
    </div>
    ${open && html`<${AnswerSource} open=${open} onCite=${cite} onClose=${() => setOpen(null)} />`}
    ${isExporting && html`<${ExportDialog} conversation=${conversation} title="" onClose=${() => setExporting(false)} />`}
  </div>`;
}

/** @param {string} conversation or "" for a new one */
function usePastTurns(conversation) {
  const [limit, setLimit] = useState(FIRST_TURNS);
  const path = `/api/conversations/${encodeURIComponent(conversation)}/turns?limit=${limit}`;
  const load = () => /** @type {Promise<PastTurn[]>} */ (conversation ? get(path) : Promise.resolve([]));
  const { value, error, reload } = useLoaded(load, [path]);
  const turns = value ?? [];
  const loadMore = turns.length >= limit && limit < MAX_TURNS ? () => setLimit(Math.min(limit * 4, MAX_TURNS)) : null;
  return { turns, isLoaded: !conversation || Boolean(value || error), problem: error?.message ?? "", loadMore, reload };
}

/** @param {TurnProps & { past: ReturnType<typeof usePastTurns>, isLatest: boolean, onRunning: ((run: Run | null) => void) | null, onLimits: (only: string[]) => void }} props */
function PastTurns({ past, isLatest, onRunning, onLimits, ...rest }) {
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  const last = past.turns.length - 1;
  useLayoutEffect(() => { end.current?.scrollIntoView({ block: "end" }); }, [last >= 0]);
  if (!past.isLoaded) return html`<p class="muted">${t("shell.loading")}</p>`;
  return html`${past.problem && html`<${Failure} title=${t("ask.unread.conversation")} problem=${past.problem} onRetry=${past.reload} />`}
    ${past.loadMore && html`<button type="button" class="quiet" onClick=${past.loadMore}>${t("ask.earlier")}</button>`}
    ${past.turns.map((turn, index) => html`<${LazyTurn} key=${turn.run_id} turn=${turn} isLast=${isLatest && index === last} onRunning=${index === last ? onRunning : null}
      onLimits=${index === last ? onLimits : null} ...${rest} />`)}
    ${last >= 0 && html`<span ref=${end}></span>`}`;
}

/**
 * @typedef {TurnProps & { turn: PastTurn, isLast: boolean, onRunning: ((run: Run | null) => void) | null, onLimits: ((only: string[]) => void) | null }} PastTurnProps
 * Loads its run when it scrolls into view.
 * @param {PastTurnProps} props
 */
function LazyTurn({ turn, ...rest }) {
  const [isSeen, setSeen] = useState(false);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
    }, { rootMargin: "400px" });
    observer.observe(/** @type {HTMLElement} */ (place.current));
    return () => observer.disconnect();
  }, []);
  return html`<div ref=${place}>${isSeen ? html`<${PastTurnView} turn=${turn} ...${rest} />`
    : html`<${Turn} run=${newRun(turn.question, turn.run_id)} isPast ...${rest} />`}</div>`;
}

/** @param {PastTurnProps} props */
function PastTurnView({ turn, onRunning, onLimits, ...rest }) {
  const run = useRun({ runId: turn.run_id, question: turn.question });
  useEffect(() => { onRunning?.(isRunning(run) ? run : null); }, [run.phase]);
  useEffect(() => { if (run.only.length) onLimits?.(run.only); }, [run.only]);
  return html`<${Turn} run=${run} isPast ...${rest} />`;
}

/** @param {TurnProps & Omit<Asked, "key"> & { address: string, isLast: boolean, onAccepted: (run: Run) => void, onRunning: (run: Run | null) => void }} props */
function NewTurn({ body, idempotencyKey, address, isLast, onAccepted, onRunning, ...rest }) {
  const run = useRun({ body, idempotencyKey, question: body.question, only: body.only });
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => { place.current?.scrollIntoView({ block: "start", behavior: REDUCED_MOTION.matches ? "auto" : "smooth" }); }, []);
  useEffect(() => { onAccepted(run); }, [run.runId]);
  useEffect(() => { // leaving the view does not lose a question that the server did not get
    if (run.phase === "refused" && !run.runId) storeTyped(address, body.question);
    else if (run.runId && readTyped(address) === body.question) storeTyped(address, "");
  }, [run.phase, run.runId]);
  useEffect(() => { if (isLast) onRunning(isRunning(run) ? run : null); }, [isLast, run.phase, run.runId]);
  return html`<div class="ask-asked" data-last=${isLast} ref=${place}><${Turn} run=${run} isLast=${isLast} ...${rest} /></div>`;
}

/** A unique id with the time, such as 20261115-153012-k3f9w2. */
function newId() {
  const time = new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  const random = [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => "0123456789abcdefghjkmnpqrstvwxyz"[byte % 32]).join("");
  return `${time}-${random}`;
}
