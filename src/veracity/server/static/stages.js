// The steps of a run as stages that people know: route, search, grade, rewrite, draft, review, score, approve.
// One row for each attempt. Knows nothing about how they are drawn.
import { points } from "./points.js";

const STAGE_OF = {
  process_input: "route", summarize_if_needed: "route", decide_route: "route",
  search_context: "search", select_sources: "search", retrieve: "search", fuse: "search", rerank: "search",
  grade_documents: "grade", rewrite_query: "rewrite", web_search: "web",
  prepare_messages: "draft", generate_answer: "draft", answer_directly: "draft",
  eval_answer: "review", settle_answer: "review", evaluate: "score", human_approval: "approve",
};
const ORDER = ["route", "web", "search", "grade", "rewrite", "draft", "review", "score", "approve"];
const COUNTED = { search: "select_sources", grade: "grade_documents", rewrite: "rewrite_query", draft: "generate_answer", review: "eval_answer" };
const EXPECTED = {
  direct: ["route", "draft"],
  history: ["route", "search", "draft", "review", "score"],
  web: ["route", "web", "draft", "review", "score"],
  knowledge: ["route", "search", "grade", "draft", "review", "score"],
};

// -> rows of [{name, state: "done" | "now" | "todo" | "waiting" | "broken", steps, rounds, seconds, since}]
export function stagesOf(steps, now = [], { isOver = true, waits = false } = {}) {
  const rows = attempts(steps, now);
  return rows.map((row, index) => {
    const isLast = index === rows.length - 1;
    const expected = isLast && !isOver ? planned(row, index) : [];
    const names = orderOf(row).filter((name) => row.has(name) || expected.includes(name) || (isLast && waits && name === "approve"));
    return names.map((name) => stage(name, row.get(name) || { steps: [], now: [] }, isLast && waits, isLast && isOver));
  });
}

// A search that could not be made is what the row ends with.
function orderOf(row) {
  return row.has("approve") && row.get("web")?.steps.some(isNotSetUp) ? [...ORDER.filter((name) => name !== "web"), "web"] : ORDER;
}

const hasNoDraft = ({ name, facts, texts }) => name === "generate_answer" && facts?.problem && !texts?.draft;
const isNotSetUp = (step) => step.facts?.provider === "none";

// A search of the web after a draft was there begins anew, if there is one.
function attempts(steps, now) {
  const rows = [new Map()];
  const put = (name, kind, value) => {
    const stage = STAGE_OF[name];
    if (!stage || (name === "settle_answer" && !rows.at(-1).has("review"))) return; // an abstention is settled unreviewed
    if (stage === "web" && rows.at(-1).has("draft") && !isNotSetUp(value)) rows.push(new Map());
    const row = rows.at(-1);
    if (!row.has(stage)) row.set(stage, { steps: [], now: [] });
    row.get(stage)[kind].push(value);
  };
  steps.forEach((step) => put(step.name, "steps", step));
  now.forEach((one) => put(one.name, "now", one));
  return rows;
}

function planned(row, index) {
  if (index > 0) return ["web", "draft", "review", "score"];
  const routed = row.get("route")?.steps.find((step) => step.name === "decide_route");
  return EXPECTED[routed?.facts?.route] || EXPECTED.knowledge;
}

// A run that was stopped or failed may end in the midst of one.
function isBroken(name, steps) {
  const has = (...names) => steps.some((step) => names.includes(step.name));
  if (name === "draft") return !has("generate_answer", "answer_directly");
  return name === "search" && has("select_sources") && !has("fuse");
}

function stage(name, { steps, now }, waits, isOver) {
  const done = !steps.length ? "todo" : isOver && isBroken(name, steps) ? "broken" : "done";
  const state = now.length ? "now" : name === "approve" && waits ? "waiting" : done;
  const counted = COUNTED[name];
  const rounds = counted ? [...steps, ...now].filter((step) => step.name === counted).length : 1;
  return { name, state, steps, rounds, seconds: spent(steps), since: now[0]?.since };
}

// The time in which any of them was under way: those that run side by side count once. Waiting for a person is not work.
function spent(steps) {
  const spans = steps.filter((step) => step.name !== "human_approval" && !isNotSetUp(step))
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

// What a search of the web came to; what went wrong is told in the words of whoever was asked.
function searched({ provider, outcome: problem, evidence }) {
  if (provider === "none") return ["ask.webNotSetUp", {}, "warn"];
  if (evidence?.length) return ["ask.found", { n: evidence.length }];
  return [!problem || problem.includes("nothing was found") ? "ask.nothingFound" : "ask.webFailed", {}, "warn"];
}

export const last = (steps, name) => steps.findLast((step) => step.name === name);

// What came of a stage, in short: {text: key of strings or null, values, tone: "good" | "warn" | "bad" | ""}
export function outcome({ name, state, steps, rounds }) {
  const say = (key, values = {}, tone = "") => ({ key, values, tone });
  if (state === "waiting") return say("ask.waiting", {}, "warn");
  if (state === "broken") return say("ask.brokeOff", {}, "bad");
  const troubled = steps.findLast((step) => step.facts?.problem);
  switch (name) {
    case "route": {
      const route = last(steps, "decide_route")?.facts?.route;
      return route ? say(`ask.route.${route}`) : null;
    }
    case "search": {
      const past = last(steps, "search_context");
      const fused = last(steps, "fuse");
      if (fused) return say("ask.found", { n: fused.facts?.passages ?? 0 }, troubled ? "warn" : "");
      return past ? say("ask.found", { n: past.facts?.found ?? 0 }) : null;
    }
    case "web": {
      const facts = last(steps, "web_search")?.facts;
      return facts ? say(...searched(facts)) : null;
    }
    case "grade": {
      const quality = (steps.findLast((step) => step.facts?.is_best) || last(steps, "grade_documents"))?.facts?.quality;
      const tones = { high: "good", medium: "", low: "warn" };
      return quality ? say("ask.evidence", { score: quality.score.toFixed(2) }, tones[quality.grade]) : null;
    }
    case "rewrite":
      return steps.length ? say("ask.times", { n: rounds }, troubled ? "warn" : "") : null;
    case "draft": {
      const step = last(steps, "generate_answer");
      if (step?.facts?.abstains) return say("ask.abstains", {}, "warn");
      const n = rounds - steps.filter(hasNoDraft).length;
      if (step && !n) return say("ask.noDraft", {}, "bad");
      return step ? say("ask.drafts", { n }, troubled ? "warn" : "") : null;
    }
    case "review": {
      const found = (last(steps, "settle_answer") || last(steps, "eval_answer"))?.facts?.outcome;
      const tones = { passed: "good", failed: "bad", doubtful: "warn", not_reviewed: "warn" };
      return found ? say(`ask.review.${found}`, {}, tones[found]) : null;
    }
    case "score": {
      const facts = last(steps, "evaluate")?.facts;
      if (!facts) return null;
      if (facts.score == null) return say("ask.notScored", {}, "warn");
      return say("ask.score", { score: points(facts.score, facts.threshold) }, facts.score >= facts.threshold ? "good" : "warn");
    }
    case "approve": {
      const facts = last(steps, "human_approval")?.facts;
      return facts ? say(`ask.verdict.${facts.edited ? "edit" : facts.verdict}`, {}, facts.verdict === "approve" ? "good" : "bad") : null;
    }
    default:
      return null;
  }
}
