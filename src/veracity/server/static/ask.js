// Asking: a question, the questions that follow on it, and the sources beside. A question begins a conversation of its own;
// its address (#/c/NAME) shows the same after a reload.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { citationsOf } from "./citing.js";
import { Composer } from "./composer.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { Examples } from "./examples.js";
import { goQuietly } from "./routes.js";
import { Source } from "./source.js";
import { Turn } from "./turn.js";
import { isUnderWay, newRun, useRun } from "./watching.js";

const SHOWN = 20; // turns of a conversation that are loaded at first

export function Ask({ me, route }) {
  const [born, setBorn] = useState(""); // the conversation that began here: its address changes, what is shown must not
  const conversation = route.id;
  const key = conversation === born ? "new" : conversation || "new";
  const visit = useRef(0);
  useEffect(() => {
    if (conversation) return;
    if (born) visit.current += 1; // back to a new question
    setBorn("");
  }, [conversation]);
  const name = conversation || born;
  return html`<${Talk} key=${`${key} ${visit.current}`} me=${me} conversation=${name} isNew=${key === "new"} onBorn=${setBorn} />`;
}

function Talk({ me, conversation, isNew, onBorn }) {
  const past = usePast(isNew ? "" : conversation);
  const [asked, setAsked] = useState([]); // what was asked since: {key, body}
  const [busy, setBusy] = useState(false);
  const [cited, setCited] = useState(null);
  const [fill, setFill] = useState(null);
  const isEmpty = isNew && !asked.length;
  const isMissing = !isNew && past.isLoaded && !past.problem && !past.turns.length && !asked.length;

  const send = (question) => {
    const name = conversation || freshName();
    setAsked((asked) => [...asked, { key: (asked.at(-1)?.key ?? -1) + 1, body: { question, conversation: name } }]);
    setBusy(true);
    setCited(null);
    if (!conversation) onBorn(name);
  };
  const again = (run) => { // what the server did not take leaves no trace
    if (busy) return;
    if (!run.runId) setAsked((asked) => asked.filter(({ body }) => body.question !== run.question));
    send(run.question);
  };
  const heard = (run) => { // the address is worth keeping from the moment the server knows the run
    if (isNew && run.runId && !location.hash.startsWith("#/c/")) goQuietly(`/c/${encodeURIComponent(conversation)}`);
  };
  const cite = (citation, answer) => setCited({ citation, answer });

  if (isMissing) return html`<${Missing} />`;
  return html`<div class="ask-layout" data-source=${Boolean(cited)} data-empty=${isEmpty}>
    <div class="ask-column">
      ${isEmpty ? html`<div class="ask-welcome"><h1>${t("ask.title")}</h1><p class="muted">${t("ask.lead")}</p></div>`
        : html`<h1 class="visually-hidden">${t("shell.ask")}</h1>`}
      <${Earlier} past=${past} me=${me} onBusy=${setBusy} onCite=${cite} onAskAgain=${again} />
      ${asked.map(({ key, body }) => html`<${Asked} key=${key} body=${body} me=${me} isLast=${key === asked.at(-1).key}
        onHeard=${heard} onBusy=${setBusy} onCite=${cite} onAskAgain=${again} />`)}
      <div class="ask-foot-bar">
        ${!isEmpty && html`<a class="button small ask-new" href="#/"><${Icon} name="plus" size=${16} /> ${t("shell.new")}</a>`}
        <${Composer} conversation=${isNew ? "" : conversation} isFollowUp=${!isEmpty} isBusy=${busy} fill=${fill} onSend=${send} />
      </div>
      ${isEmpty && html`<${Examples} me=${me} onChoose=${(text) => setFill({ text })} />`}
    </div>
    ${cited && html`<${Source} citation=${cited.citation} evidence=${cited.answer.evidence} citations=${citationsOf(cited.answer)}
      onCite=${(citation) => setCited({ ...cited, citation })} onClose=${() => setCited(null)} />`}
  </div>`;
}

function Missing() {
  return html`<div class="view"><div class="empty stack"><h1>${t("ask.noConversation")}</h1><p>${t("ask.noConversation.lead")}</p>
    <p><a class="button" href="#/">${t("ask.noConversation.new")}</a></p></div></div>`;
}

function usePast(conversation) {
  const [past, setPast] = useState({ turns: [], limit: SHOWN, isLoaded: !conversation, problem: "" });
  useEffect(() => {
    if (!conversation) return undefined;
    let isGone = false;
    get(`/api/conversations/${encodeURIComponent(conversation)}/turns?limit=${past.limit}`).then(
      (turns) => { if (!isGone) setPast({ ...past, turns, isLoaded: true, problem: "" }); },
      (refusal) => { if (!isGone) setPast({ ...past, isLoaded: true, problem: refusal.message }); },
    );
    return () => { isGone = true; };
  }, [conversation, past.limit]);
  const more = past.turns.length >= past.limit ? () => setPast({ ...past, limit: past.limit * 4 }) : null;
  return { ...past, more };
}

function Earlier({ past, onBusy, ...rest }) {
  const end = useRef(null);
  useLayoutEffect(() => { end.current?.scrollIntoView({ block: "end" }); }, [past.turns.length > 0]);
  if (past.problem) return html`<p class="notice bad" role="alert">${past.problem}</p>`;
  if (!past.isLoaded) return html`<p class="muted">${t("shell.loading")}</p>`;
  return html`${past.more && html`<button type="button" class="quiet" onClick=${past.more}>${t("ask.earlier")}</button>`}
    ${past.turns.map((turn, index) => html`<${Recalled} key=${turn.run_id} turn=${turn}
      onBusy=${index === past.turns.length - 1 ? onBusy : null} ...${rest} />`)}
    ${past.turns.length > 0 && html`<span ref=${end}></span>`}`;
}

// A turn of before is loaded whole once it comes into sight: a long conversation has many.
function Recalled({ turn, onBusy, ...rest }) {
  const [isSeen, setSeen] = useState(false);
  const place = useRef(null);
  useEffect(() => {
    const watcher = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
    }, { rootMargin: "400px" });
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  return html`<div ref=${place}>${isSeen ? html`<${Whole} turn=${turn} onBusy=${onBusy} ...${rest} />`
    : html`<${Turn} run=${{ ...newRun(turn.question), phase: "recalled" }} isFolded ...${rest} />`}</div>`;
}

function Whole({ turn, onBusy, ...rest }) {
  const run = useRun({ runId: turn.run_id, question: turn.question });
  const isLoading = run.phase === "asking" && !run.started;
  useEffect(() => { onBusy?.(isUnderWay(run) && !isLoading); }, [run.phase, isLoading]);
  return html`<${Turn} run=${isLoading ? { ...run, phase: "recalled" } : run} isFolded ...${rest} />`;
}

function Asked({ body, isLast, onHeard, onBusy, ...rest }) {
  const run = useRun({ body, question: body.question });
  const place = useRef(null);
  useEffect(() => { place.current.scrollIntoView({ block: "start", behavior: "smooth" }); }, []);
  useEffect(() => { onHeard(run); }, [run.runId]);
  useEffect(() => { if (isLast) onBusy(isUnderWay(run)); }, [isLast, run.phase]);
  return html`<div class="ask-asked" data-last=${isLast} ref=${place}><${Turn} run=${run} ...${rest} /></div>`;
}

// Such as 20261115-153012-k3f9w: told apart by the moment and by chance.
function freshName() {
  const moment = new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  const chance = [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => "0123456789abcdefghjkmnpqrstvwxyz"[byte % 32]).join("");
  return `${moment}-${chance}`;
}
