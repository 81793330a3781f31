// Asking: a question, the questions that follow on it, and the sources beside. A question begins a conversation of its own;
// its address (#/c/NAME) shows the same after a reload.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { feed, get, post } from "./api.js";
import { citationsOf } from "./citing.js";
import { Composer } from "./composer.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { Examples } from "./examples.js";
import { Missing } from "./missing.js";
import { goQuietly, readRoute } from "./routes.js";
import { Source } from "./source.js";
import { Trouble, Turn } from "./turn.js";
import { isUnderWay, newRun, useRun } from "./watching.js";

const SHOWN = 20; // turns of a conversation that are loaded at first
const MOST = 1000; // as the server has it
const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");

// Every arrival at #/ begins anew, under a name that becomes the address with the first question.
export function Ask({ me, route }) {
  const begun = useRef({});
  if (!route.id && begun.current.route !== route) begun.current = { route, name: freshName() };
  const name = route.id || begun.current.name;
  return html`<${Talk} key=${name} me=${me} conversation=${name} address=${route.id} isNew=${name === begun.current.name} />`;
}

function Talk({ me, conversation, address, isNew }) {
  const past = usePast(isNew ? "" : conversation);
  const [asked, setAsked] = useState([]); // what was asked since: {key, once, body}
  const [underWay, setUnderWay] = useState(null); // the last run, until it has ended
  const [cited, setCited] = useState(null);
  const [fill, setFill] = useState(null);
  const count = useRef(0);
  const isEmpty = isNew && !asked.length;
  const isMissing = !isNew && past.isLoaded && !past.problem && !past.turns.length && !asked.length;

  const send = (question, insteadOf = 0) => {
    const refused = asked.find(({ key }) => key === insteadOf);
    const once = refused?.once ?? freshName(); // it may have arrived all the same: then that run is followed
    count.current += 1;
    const turn = { key: count.current, once, body: { question, conversation } };
    setAsked((asked) => [...asked.filter(({ key }) => key !== insteadOf), turn]);
    setUnderWay(newRun(question));
    setCited(null);
  };
  const stop = () => { // whatever follows the run hears of its end
    setUnderWay(newRun());
    post(`/api/runs/${encodeURIComponent(underWay.runId)}/stop`).catch(() => setUnderWay(underWay));
  };
  const again = (run, key) => { // what the server did not take leaves no trace
    if (!underWay) send(run.question, run.runId ? 0 : key);
  };
  const heard = (run) => { // the address is worth keeping from the moment the server knows the run
    const { view, id } = readRoute();
    if (run.runId && view === "ask" && !id) goQuietly(`/c/${encodeURIComponent(conversation)}`);
  };
  const cite = (citation, answer) => setCited({ citation, answer });

  if (isMissing) return html`<${Missing} title=${t("ask.noConversation")} lead=${t("ask.noConversation.lead")} />`;
  return html`<div class="ask-layout" data-source=${Boolean(cited)} data-empty=${isEmpty}>
    <div class="ask-column">
      ${isEmpty ? html`<div class="ask-welcome"><h1>${t("ask.title")}</h1><p class="muted">${t("ask.lead")}</p></div>`
        : html`<h1 class="visually-hidden">${t("shell.ask")}</h1>`}
      <${Earlier} past=${past} me=${me} onUnderWay=${asked.length ? null : setUnderWay} onCite=${cite} onAskAgain=${again} />
      ${asked.map(({ key, ...turn }) => html`<${Asked} key=${key} ...${turn} me=${me} isLast=${key === asked.at(-1).key}
        onHeard=${heard} onUnderWay=${setUnderWay} onCite=${cite} onAskAgain=${(run) => again(run, key)} />`)}
      <div class="ask-foot-bar">
        ${!isEmpty && html`<a class="button small ask-new" href="#/"><${Icon} name="plus" size=${16} /> ${t("shell.new")}</a>`}
        <${Composer} conversation=${address} isFollowUp=${!isEmpty} isBusy=${Boolean(underWay)} fill=${fill}
          onSend=${send} onStop=${underWay?.runId && stop} />
      </div>
      ${isEmpty && html`<${Examples} me=${me} onChoose=${(text) => setFill({ text })} />`}
    </div>
    ${cited && html`<${Source} citation=${cited.citation} evidence=${cited.answer.evidence} citations=${citationsOf(cited.answer)}
      onCite=${(citation) => setCited({ ...cited, citation })} onClose=${() => setCited(null)} />`}
  </div>`;
}

function usePast(conversation) {
  const [past, setPast] = useState({ turns: [], isLoaded: !conversation, problem: "" });
  const [limit, setLimit] = useState(SHOWN);
  const [visit, setVisit] = useState(0);
  const look = () => setVisit((visit) => visit + 1);
  useEffect(() => {
    if (!conversation) return undefined;
    let isGone = false;
    get(`/api/conversations/${encodeURIComponent(conversation)}/turns?limit=${limit}`).then(
      (turns) => { if (!isGone) setPast({ turns, isLoaded: true, problem: "" }); },
      (refusal) => { if (!isGone) setPast({ ...past, isLoaded: true, problem: refusal.message }); },
    );
    return () => { isGone = true; };
  }, [conversation, limit, visit]);
  useEffect(() => (past.problem ? feed.on("hello", look) : undefined), [past.problem]);
  const more = past.turns.length >= limit && limit < MOST ? () => setLimit(Math.min(limit * 4, MOST)) : null;
  return { ...past, more, look };
}

function Earlier({ past, onUnderWay, ...rest }) {
  const end = useRef(null);
  useLayoutEffect(() => { end.current?.scrollIntoView({ block: "end" }); }, [past.turns.length > 0]);
  if (!past.isLoaded) return html`<p class="muted">${t("shell.loading")}</p>`;
  return html`${past.problem && html`<${Trouble} title=${t("ask.unread.conversation")} problem=${past.problem} onAgain=${past.look} />`}
    ${past.more && html`<button type="button" class="quiet" onClick=${past.more}>${t("ask.earlier")}</button>`}
    ${past.turns.map((turn, index) => html`<${Recalled} key=${turn.run_id} turn=${turn}
      onUnderWay=${index === past.turns.length - 1 ? onUnderWay : null} ...${rest} />`)}
    ${past.turns.length > 0 && html`<span ref=${end}></span>`}`;
}

// A turn of before is loaded whole once it comes into sight: a long conversation has many.
function Recalled({ turn, onUnderWay, ...rest }) {
  const [isSeen, setSeen] = useState(false);
  const place = useRef(null);
  useEffect(() => {
    const watcher = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
    }, { rootMargin: "400px" });
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  return html`<div ref=${place}>${isSeen ? html`<${Whole} turn=${turn} onUnderWay=${onUnderWay} ...${rest} />`
    : html`<${Turn} run=${newRun(turn.question, turn.run_id)} isFolded ...${rest} />`}</div>`;
}

function Whole({ turn, onUnderWay, ...rest }) {
  const run = useRun({ runId: turn.run_id, question: turn.question });
  useEffect(() => { onUnderWay?.(isUnderWay(run) ? run : null); }, [run.phase]);
  return html`<${Turn} run=${run} isFolded ...${rest} />`;
}

function Asked({ body, once, isLast, onHeard, onUnderWay, ...rest }) {
  const run = useRun({ body, once, question: body.question });
  const place = useRef(null);
  useEffect(() => { place.current.scrollIntoView({ block: "start", behavior: STILL.matches ? "auto" : "smooth" }); }, []);
  useEffect(() => { onHeard(run); }, [run.runId]);
  useEffect(() => { if (isLast) onUnderWay(isUnderWay(run) ? run : null); }, [isLast, run.phase, run.runId]);
  return html`<div class="ask-asked" data-last=${isLast} ref=${place}><${Turn} run=${run} ...${rest} /></div>`;
}

// Such as 20261115-153012-k3f9w: told apart by the moment and by chance.
function freshName() {
  const moment = new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  const chance = [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => "0123456789abcdefghjkmnpqrstvwxyz"[byte % 32]).join("");
  return `${moment}-${chance}`;
}
