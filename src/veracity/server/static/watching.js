// A run as the page watches it: from its events, or from its receipt when it is over. Knows nothing about how it is shown.
import { useEffect, useReducer, useRef } from "./vendor/preact.js";
import { ask, feed, follow, get } from "./api.js";

const OVER = new Set(["answered", "abstained", "rejected", "failed"]);
const GATHERED = 40; // milliseconds in which the pieces of a draft are put together, so that it is not drawn for each word

// phase: "loading" (a run of before), "asking" (nothing heard yet), "queued", "running", "done" (there is an answer, or it
// waits for a person), "failed" (the run ended without one), "refused" (there is no run, or it cannot be seen) or "unread"
// (there is one, and what became of it could not be loaded).
export function newRun(question = "", runId = "") {
  return {
    question, runId, phase: runId ? "loading" : "asking", ahead: 0, steps: [], now: [], draft: "", isOld: false, answer: null, problem: "", refusal: null,
    last: "", connection: "open", feedback: [], user: "", conversation: "", started: null,
  };
}

export function isUnderWay(run) {
  return ["asking", "queued", "running"].includes(run.phase);
}

export function isWaiting(run) {
  return run.phase === "done" && run.answer?.status === "awaiting_approval";
}

function reduced(run, event) {
  switch (event.kind) {
    case "queued":
      return { ...run, phase: "queued", ahead: event.ahead || 0 };
    case "started":
      return started(run, event.name);
    case "draft":
      return { ...run, phase: "running", draft: event.begins ? event.text : run.draft + event.text, isOld: false };
    case "finished":
      return finished(run, event.step);
    case "answer":
      return { ...run, phase: "done", now: [], answer: event.answer, question: event.answer.question || run.question };
    case "failed":
      return { ...run, phase: "failed", now: [], problem: event.problem };
    case "refused":
      return { ...run, phase: run.runId && event.refusal.status !== 404 ? "unread" : "refused", now: [], refusal: event.refusal };
    case "connection":
      return { ...run, connection: event.state };
    case "receipt":
      return fromReceipt(run, event.receipt);
    default:
      return run;
  }
}

export function nextRun(run, event) {
  const next = reduced(run, event);
  return { ...next, last: event.id || run.last, runId: event.run_id || run.runId };
}

// A draft is an old one from the moment that another is begun until there is something of that to show.
function started(run, name) {
  const now = [...run.now, { name, since: performance.now() }];
  return { ...run, phase: "running", answer: null, now, isOld: run.isOld || name === "generate_answer" };
}

function finished(run, step) {
  const place = run.now.findIndex((one) => one.name === step.name);
  const now = run.now.filter((_, index) => index !== place);
  return { ...run, phase: "running", now, draft: draftAfter(run.draft, step), isOld: false, steps: [...run.steps, step] };
}

// Not every writer tells its draft piece by piece; one that was rejected is of no interest any more.
function draftAfter(draft, step) {
  if (step.name === "generate_answer" && !step.facts?.abstains) return step.texts?.draft || draft;
  return step.facts?.verdict === "reject" ? "" : draft;
}

// Of a run that is not over only what its events do not tell: those are followed from the first.
function fromReceipt(run, receipt) {
  const { run: summary, answer, steps, feedback } = receipt;
  const known = {
    ...newRun(summary.question), runId: run.runId, user: summary.user, conversation: summary.conversation,
    started: summary.started, feedback: feedback || [],
  };
  if (!OVER.has(summary.status)) return known;
  if (summary.status === "failed" || !answer) return { ...known, phase: "failed", steps, problem: summary.problem };
  return { ...known, phase: "done", steps, answer };
}

// Asks (`body`, which is one question however often it is sent under the same `once`) or looks at a run (`runId`), and keeps watching;
// `look` loads it again. To stop watching does not stop the run.
export function useRun({ runId = "", body = null, once = "", question = "" }) {
  const [run, dispatch] = useReducer((run, events) => events.reduce(nextRun, run), newRun(question, runId));
  const stream = useRef(null);
  const gathered = useRef([]);
  const timer = useRef(0);
  const isGone = useRef(false);

  const flush = () => {
    clearTimeout(timer.current);
    timer.current = 0;
    dispatch(gathered.current.splice(0));
  };
  const take = (event) => {
    gathered.current.push(event);
    if (!timer.current) timer.current = setTimeout(flush, GATHERED);
  };
  const watched = {
    onEvent: take,
    onState: (state) => take({ kind: "connection", state }),
    onError: (refusal) => take({ kind: "refused", refusal }),
  };

  const look = async () => {
    try {
      const receipt = await get(`/api/runs/${encodeURIComponent(run.runId)}`);
      if (isGone.current) return;
      take({ kind: "receipt", receipt });
      stream.current?.stop();
      if (!OVER.has(receipt.run.status)) stream.current = follow(run.runId, watched);
    } catch (refusal) {
      if (!isGone.current) take({ kind: "refused", refusal });
    }
  };

  useEffect(() => {
    if (body) stream.current = ask(body, once, watched);
    else look();
    return () => {
      isGone.current = true;
      clearTimeout(timer.current);
      stream.current?.stop();
    };
  }, []);
  useEffect(() => (run.phase === "unread" ? feed.on("hello", look) : undefined), [run.phase]);

  useDecision(run, () => {
    stream.current?.stop();
    stream.current = follow(run.runId, { ...watched, after: run.last });
  });
  return { ...run, look };
}

// Calls `goOn` once somebody has decided on the draft that waits, here or anywhere else.
function useDecision(run, goOn) {
  const waits = isWaiting(run);
  useEffect(() => {
    if (!waits) return undefined;
    let isOver = false;
    const decided = () => {
      if (isOver) return;
      isOver = true;
      goOn();
    };
    const look = async () => { // what was decided while the feed was away is not told again
      const approval = await get(`/api/approvals/${encodeURIComponent(run.answer.approval_id)}`).catch(() => null);
      if (approval && approval.state !== "pending") decided();
    };
    const offs = [
      feed.on("approval", (told) => { if (told.run_id === run.runId && told.state !== "pending") decided(); }),
      feed.on("hello", look),
    ];
    look();
    return () => {
      isOver = true;
      offs.forEach((off) => off());
    };
  }, [waits, run.answer?.approval_id]);
}
