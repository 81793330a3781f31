// Groups the steps of a run into stages (route, search, grade, …), one row per attempt, and sums up each stage.
import { rate, scales, scoreScale } from "../lib/strength.js";
/** @import { ActiveStep, Step, WebSearchFacts } from "../lib/types.d.ts" */

/**
 * @typedef {"route" | "web" | "search" | "grade" | "rewrite" | "draft" | "review" | "score" | "approve"} StageName
 * @typedef {"done" | "active" | "todo" | "waiting" | "broken"} StageState
 * @typedef {{ name: StageName, state: StageState, steps: Step[], rounds: number, seconds: number, since?: number }} Stage
 * @typedef {Map<StageName, { steps: Step[], active: ActiveStep[] }>} Row
 * @typedef {{ key: string, values: Record<string, unknown>, tone: string }} Outcome a string key, its values, and a tone
 */

/** @type {Record<Step["name"], StageName>} */
const STAGE_OF = {
  process_input: "route", summarize_if_needed: "route", decide_route: "route",
  search_context: "search", select_sources: "search", retrieve: "search", fuse: "search", rerank: "search",
  grade_documents: "grade", rewrite_query: "rewrite", web_search: "web",
  prepare_messages: "draft", generate_answer: "draft", answer_directly: "draft",
  eval_answer: "review", settle_answer: "review", evaluate: "score", human_approval: "approve",
};
/** @type {StageName[]} */
const ORDER = ["route", "web", "search", "grade", "rewrite", "draft", "review", "score", "approve"];
/** The step that is counted as a round of its stage. @type {Partial<Record<StageName, Step["name"]>>} */
const COUNTED = { search: "select_sources", grade: "grade_documents", rewrite: "rewrite_query", draft: "generate_answer", review: "eval_answer" };
/** The stages a route will go through. @type {Record<string, StageName[]>} */
const EXPECTED = {
  direct: ["route", "draft"],
  history: ["route", "search", "draft", "review", "score"],
  web: ["route", "web", "draft", "review", "score"],
  knowledge: ["route", "search", "grade", "draft", "review", "score"],
};

/**
 * @param {Step[]} steps that have finished
 * @param {ActiveStep[]} active
 * @param {{ isOver?: boolean, isPending?: boolean }} options
 * @returns {Stage[][]} a row per attempt
 */
export function groupStages(steps, active = [], { isOver = true, isPending = false } = {}) {
  const rows = splitAttempts(steps, active);
  return rows.map((row, index) => {
    const isLast = index === rows.length - 1;
    const expected = isLast && !isOver ? expectedStages(row, index) : [];
    const names = stageOrder(row).filter((name) => row.has(name) || expected.includes(name) || (isLast && isPending && name === "approve"));
    return names.map((name) => makeStage(name, row.get(name) || { steps: [], active: [] }, isLast && isPending, isLast && isOver));
  });
}

/** A web search that is not configured comes last. @param {Row} row */
function stageOrder(row) {
  const isUnavailable = row.has("approve") && row.get("web")?.steps.some(isNotConfigured);
  return isUnavailable ? [...ORDER.filter((name) => name !== "web"), /** @type {StageName} */ ("web")] : ORDER;
}

/** @param {Step | ActiveStep} step */
const isNotConfigured = (step) => "facts" in step && step.name === "web_search" && step.facts.provider === "none";

/** A web search after a draft starts a new attempt, and so does a draft that was sent back. @param {Step[]} steps @param {ActiveStep[]} active */
function splitAttempts(steps, active) {
  /** @type {Row[]} */
  const rows = [new Map()];
  const stageFor = (/** @type {Step | ActiveStep} */ step) => {
    const name = STAGE_OF[/** @type {Step["name"]} */ (step.name)];
    let row = rows[rows.length - 1];
    if (!name || (step.name === "settle_answer" && !row.has("review"))) return null; // an abstention is not reviewed
    const isSentBack = name === "draft" && row.get("approve")?.steps.some((one) => one.name === "human_approval" && one.facts.verdict === "send_back");
    if (isSentBack || (name === "web" && row.has("draft") && !isNotConfigured(step))) rows.push(row = new Map());
    const stage = row.get(name) ?? { steps: [], active: [] };
    row.set(name, stage);
    return stage;
  };
  steps.forEach((step) => stageFor(step)?.steps.push(step));
  active.forEach((step) => stageFor(step)?.active.push(step));
  return rows;
}

/** @param {Row} row @param {number} index @returns {StageName[]} */
function expectedStages(row, index) {
  if (index > 0) return [...(row.has("web") ? /** @type {StageName[]} */ (["web"]) : []), "draft", "review", "score"];
  const route = lastStep(row.get("route")?.steps ?? [], "decide_route")?.facts.route;
  return EXPECTED[route ?? "knowledge"];
}

/** Whether a stopped or failed run ended in the middle of this stage. @param {StageName} name @param {Step[]} steps */
function isBroken(name, steps) {
  const has = (/** @type {Step["name"][]} */ ...names) => steps.some((step) => names.includes(step.name));
  if (name === "draft") return !has("generate_answer", "answer_directly");
  return name === "search" && has("select_sources") && !has("fuse");
}

/**
 * @param {StageName} name
 * @param {{ steps: Step[], active: ActiveStep[] }} grouped
 * @param {boolean} isPending
 * @param {boolean} isOver
 * @returns {Stage}
 */
function makeStage(name, { steps, active }, isPending, isOver) {
  const finished = !steps.length ? "todo" : isOver && isBroken(name, steps) ? "broken" : "done";
  const state = active.length ? "active" : name === "approve" && isPending ? "waiting" : finished;
  const counted = COUNTED[name];
  const rounds = counted ? [...steps, ...active].filter((step) => step.name === counted).length : 1;
  return { name, state, steps, rounds, seconds: elapsedSeconds(steps), since: active[0]?.since };
}

/**
 * Time during which any step ran: parallel steps count once, waiting for a person does not count.
 * @param {Step[]} steps
 */
function elapsedSeconds(steps) {
  const spans = steps.filter((step) => step.name !== "human_approval" && !isNotConfigured(step))
    .map((step) => [Date.parse(step.started) / 1000, step.seconds]).sort((a, b) => a[0] - b[0]);
  let total = 0;
  let reached = -Infinity;
  for (const [start, seconds] of spans) {
    const end = start + seconds;
    if (end > reached) total += end - Math.max(start, reached);
    reached = Math.max(reached, end);
  }
  return total;
}

/**
 * The last step of a name.
 * @template {Step["name"]} Name
 * @param {Step[]} steps @param {Name} name
 * @returns {Extract<Step, { name: Name }> | undefined}
 */
export function lastStep(steps, name) {
  return /** @type {Extract<Step, { name: Name }> | undefined} */ (steps.findLast((step) => step.name === name));
}

/** @param {string} key @param {Record<string, unknown>} values @param {string} tone @returns {Outcome} */
const outcome = (key, values = {}, tone = "") => ({ key, values, tone });

/** The outcome of a stage in a few words, or null. @param {Stage} stage */
export function summarizeStage({ name, state, steps, rounds }) {
  if (state === "waiting") return outcome("ask.waiting", {}, "warn");
  if (state === "broken") return outcome("ask.brokeOff", {}, "bad");
  return SUMMARIES[name](steps, rounds);
}

/** @param {Step[]} steps */
const toneOfProblems = (steps) => (steps.some((step) => step.facts.problem) ? "warn" : "");

/** @type {Record<StageName, (steps: Step[], rounds: number) => Outcome | null>} */
const SUMMARIES = {
  route(steps) {
    const route = lastStep(steps, "decide_route")?.facts.route;
    return route ? outcome(`ask.route.${route}`) : null;
  },
  search(steps) {
    const fused = lastStep(steps, "fuse");
    if (fused) return outcome("ask.found", { n: fused.facts.passages ?? 0 }, toneOfProblems(steps));
    const recalled = lastStep(steps, "search_context");
    return recalled ? outcome("ask.found", { n: recalled.facts.found ?? 0 }) : null;
  },
  web(steps) {
    const facts = lastStep(steps, "web_search")?.facts;
    return facts ? summarizeWebSearch(facts) : null;
  },
  grade(steps) {
    const graded = steps.findLast((step) => step.name === "grade_documents" && step.facts.is_best);
    const quality = lastStep(graded ? [graded] : steps, "grade_documents")?.facts.quality;
    if (!quality) return null;
    const { text, tone } = rate(quality.score, scales.evidence);
    return outcome("ask.strength", { strength: text }, tone);
  },
  rewrite(steps, rounds) {
    return steps.length ? outcome("ask.times", { n: rounds }, toneOfProblems(steps)) : null;
  },
  draft(steps, rounds) {
    const last = lastStep(steps, "generate_answer");
    if (last?.facts.abstains) return outcome("ask.abstains", {}, "warn");
    const failed = steps.filter((step) => step.name === "generate_answer" && step.facts.problem && !step.texts?.draft);
    const n = rounds - failed.length;
    if (last && !n) return outcome("ask.noDraft", {}, "bad");
    return last ? outcome("ask.drafts", { n }, toneOfProblems(steps)) : null;
  },
  review(steps) {
    const result = (lastStep(steps, "settle_answer") || lastStep(steps, "eval_answer"))?.facts.outcome;
    const tones = { passed: "good", failed: "bad", doubtful: "warn", not_reviewed: "warn" };
    return result ? outcome(`ask.review.${result}`, {}, tones[result]) : null;
  },
  score(steps) {
    const facts = lastStep(steps, "evaluate")?.facts;
    if (!facts) return null;
    if (facts.score == null) return outcome("ask.notScored", {}, "warn");
    const threshold = facts.threshold ?? 0;
    const { text, tone } = rate(facts.score, scoreScale(threshold));
    const isGrounded = (facts.grounding ?? 0) >= (facts.grounding_floor ?? 0);
    return outcome("ask.strength", { strength: text }, tone === "good" && !isGrounded ? "warn" : tone);
  },
  approve(steps) {
    const facts = lastStep(steps, "human_approval")?.facts;
    if (!facts) return null;
    return outcome(`ask.verdict.${facts.edited ? "edit" : facts.verdict}`, {}, facts.verdict === "approve" ? "good" : "bad");
  },
};

/** @param {WebSearchFacts} facts */
function summarizeWebSearch({ provider, outcome: problem, evidence }) {
  if (provider === "none") return outcome("ask.webNotSetUp", {}, "warn");
  if (evidence?.length) return outcome("ask.found", { n: evidence.length });
  return outcome(!problem || problem.includes("nothing was found") ? "ask.nothingFound" : "ask.webFailed", {}, "warn");
}
