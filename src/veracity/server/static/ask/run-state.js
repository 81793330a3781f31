// The state of a run in the page, from its events while it runs and from its receipt when it is over.
import { useEffect, useReducer, useRef } from "../lib/preact.js";
import { feed } from "../lib/feed.js";
import { asApiError, get } from "../lib/http.js";
import { followRun, startRun } from "../lib/run-stream.js";
/** @import { Approval, Receipt, Run, RunChange, Step, StreamHandlers } from "../lib/types.d.ts" */

const FINISHED = new Set(["answered", "abstained", "rejected", "failed"]);
/** @type {string[]} */
const NO_LIMITS = [];
const BATCH_INTERVAL = 40; // milliseconds; pieces of a draft are batched, so that the page is not redrawn for each word

/** @param {string} question @param {string} runId @param {string[]} only @returns {Run} */
export function newRun(question = "", runId = "", only = NO_LIMITS) {
  return {
    question, runId, only, phase: runId ? "loading" : "asking", ahead: 0, steps: [], active: [], draft: "", isOutdated: false, answer: null,
    problem: "", error: null, lastEventId: "", connection: "open", feedback: [], user: "", conversation: "", started: null,
  };
}

/** @param {Run} run */
export function isRunning(run) {
  return ["asking", "queued", "running"].includes(run.phase);
}

/** @param {Run} run */
export function isPending(run) {
  return run.phase === "done" && run.answer?.status === "awaiting_approval";
}

/** @param {Run} run @param {RunChange} change @returns {Run} */
function applyChange(run, change) {
  switch (change.kind) {
    case "queued":
      return { ...run, phase: "queued", ahead: change.ahead || 0 };
    case "started":
      return startStep(run, change.name);
    case "draft":
      return { ...run, phase: "running", draft: change.begins ? change.text : run.draft + change.text, isOutdated: false };
    case "finished":
      return finishStep(run, change.step);
    case "answer":
      return { ...run, phase: "done", active: [], answer: change.answer, question: change.answer.question || run.question };
    case "failed":
      return { ...run, phase: "failed", active: [], problem: change.problem };
    case "refused":
      return { ...run, phase: run.runId && change.error.status !== 404 ? "unread" : "refused", active: [], error: change.error };
    case "connection":
      return { ...run, connection: change.state };
    case "receipt":
      return applyReceipt(run, change.receipt);
    default:
      return run;
  }
}

/** @param {Run} run @param {RunChange} change @returns {Run} */
export function reduceRun(run, change) {
  const next = applyChange(run, change);
  return { ...next, lastEventId: change.id || run.lastEventId, runId: change.run_id || run.runId };
}

/** @param {Run} run @param {string} name @returns {Run} */
function startStep(run, name) {
  const active = [...run.active, { name, since: performance.now() }];
  return { ...run, phase: "running", answer: null, active, isOutdated: run.isOutdated || name === "generate_answer" };
}

/** @param {Run} run @param {Step} step @returns {Run} */
function finishStep(run, step) {
  const finished = run.active.findIndex(({ name }) => name === step.name);
  const active = run.active.filter((_, index) => index !== finished);
  return { ...run, phase: "running", active, draft: draftAfter(run.draft, step), isOutdated: false, steps: [...run.steps, step] };
}

/**
 * Not every writer streams its draft; a rejected draft is no longer of interest.
 * @param {string} draft
 * @param {Step} step
 */
function draftAfter(draft, step) {
  if (step.name === "generate_answer" && !step.facts.abstains) return step.texts?.draft || draft;
  return step.name === "human_approval" && step.facts.verdict === "reject" ? "" : draft;
}

/**
 * For a run that is not over, takes only what its events do not contain.
 * @param {Run} run
 * @param {Receipt} receipt
 * @returns {Run}
 */
function applyReceipt(run, receipt) {
  const { run: summary, answer, steps, feedback } = receipt;
  const base = {
    ...newRun(summary.question, "", receipt.only ?? NO_LIMITS), runId: run.runId, user: summary.user, conversation: summary.conversation,
    started: summary.started, feedback: feedback || [],
  };
  if (!FINISHED.has(summary.status)) return base;
  if (summary.status === "failed" || !answer) return { ...base, phase: "failed", steps, problem: summary.problem };
  return { ...base, phase: "done", steps, answer };
}

/**
 * Asks a question (`body`) or loads a run (`runId`), and follows it. Unmounting does not stop the run.
 * @param {{ runId?: string, body?: { question: string, conversation: string, only: string[] }, idempotencyKey?: string, question?: string, only?: string[] }} options
 */
export function useRun({ runId = "", body, idempotencyKey = "", question = "", only }) {
  const [run, dispatch] = useReducer(
    (/** @type {Run} */ run, /** @type {RunChange[]} */ changes) => changes.reduce(reduceRun, run), newRun(question, runId, only));
  const stream = useRef(/** @type {{ stop(): void } | null} */ (null));
  const batch = useRef(/** @type {RunChange[]} */ ([]));
  const timer = useRef(0);
  const isUnmounted = useRef(false);

  const flush = () => {
    timer.current = 0;
    dispatch(batch.current.splice(0));
  };
  const change = (/** @type {RunChange} */ change) => {
    batch.current.push(change);
    timer.current ||= setTimeout(flush, BATCH_INTERVAL);
  };
  /** @type {StreamHandlers} */
  const handlers = {
    onEvent: (event) => {
      change(event);
      if (event.kind === "answer" || event.kind === "failed") feed.announce("conversations");
    },
    onState: (state) => change({ kind: "connection", state }),
    onError: (error) => change({ kind: "refused", error }),
  };

  const reload = async () => {
    try {
      /** @type {Receipt} */
      const receipt = await get(`/api/runs/${encodeURIComponent(run.runId)}`);
      if (isUnmounted.current) return;
      change({ kind: "receipt", receipt });
      stream.current?.stop();
      if (!FINISHED.has(receipt.run.status)) stream.current = followRun(run.runId, handlers);
    } catch (error) {
      if (!isUnmounted.current) change({ kind: "refused", error: asApiError(error) });
    }
  };

  useEffect(() => {
    if (body) stream.current = startRun(body, idempotencyKey, handlers);
    else reload();
    return () => {
      isUnmounted.current = true;
      clearTimeout(timer.current);
      stream.current?.stop();
    };
  }, []);
  useEffect(() => (run.phase === "unread" ? feed.on("hello", reload) : undefined), [run.phase]);
  useDecisionWatch(run, () => {
    stream.current?.stop();
    stream.current = followRun(run.runId, { ...handlers, lastEventId: run.lastEventId });
  });
  return { ...run, reload };
}

/**
 * Calls `onDecided` once the pending draft is decided, here or elsewhere.
 * @param {Run} run
 * @param {() => void} onDecided
 */
function useDecisionWatch(run, onDecided) {
  const approvalId = isPending(run) ? run.answer?.approval_id ?? "" : "";
  useEffect(() => {
    if (!approvalId) return undefined;
    let isOver = false;
    const decided = () => {
      if (isOver) return;
      isOver = true;
      onDecided();
    };
    const check = async () => { // the feed does not repeat what happened while it was disconnected
      /** @type {Approval | null} */
      const approval = await get(`/api/approvals/${encodeURIComponent(approvalId)}`).catch(() => null);
      if (approval && approval.state !== "pending") decided();
    };
    const unsubscribe = [
      feed.on("approval", ({ run_id, state }) => { if (run_id === run.runId && state !== "pending") decided(); }),
      feed.on("hello", check),
    ];
    check();
    return () => {
      isOver = true;
      unsubscribe.forEach((off) => off());
    };
  }, [approvalId]);
}
