// The approvals the inbox knows, kept up to date while others decide.
import { useCallback, useEffect, useRef, useState } from "../lib/preact.js";
import { feed } from "../lib/feed.js";
import { asApiError, get } from "../lib/http.js";
/** @import { ApiError } from "../lib/http.js" */
/** @import { Approval, FeedEvents } from "../lib/types.d.ts" */

/**
 * @typedef {"waiting" | "decided"} Tab
 * @typedef {Map<string, Approval> | null} Approvals by id; null until they are loaded
 * @typedef {ReturnType<typeof useApprovals>} Store
 */

const MAX_APPROVALS = 100;
/** @type {Approval["why"][]} */
const WORST_FIRST = ["review_failed", "low_grounding", "low_score", "uncertain", "not_reviewed", "not_scored", "abstained", "policy", "audit"];
const LATE = 5000; // milliseconds that the news of a withdrawn decision may take
/** @type {Record<string, "approve" | "reject" | "send_back" | "expire">} */
const VERDICTS = { approved: "approve", rejected: "reject", sent_back: "send_back", expired: "expire" };
const BATCH_INTERVAL = 120; // milliseconds; events that arrive together are handled together
const MAX_SINGLE_LOADS = 4; // approvals that are loaded one by one; for more, the list is loaded again

/** @param {string} id */
export const approvalPath = (id) => `/api/approvals/${encodeURIComponent(id)}`;

/** @param {Tab} tab */
export function useApprovals(tab) {
  const [approvals, setApprovals] = useState(/** @type {Approvals} */ (null));
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  const [isCut, setCut] = useState(false);
  const currentTab = useRef(tab);
  const latest = useRef(approvals);
  currentTab.current = tab;
  latest.current = approvals;

  const merge = useCallback((/** @type {Approval[]} */ loaded) => {
    setApprovals((before) => {
      const news = loaded.filter((approval) => isNews(before, approval));
      return new Map([...(before ?? []), .../** @type {[string, Approval][]} */ (news.map((approval) => [approval.approval_id, approval]))]);
    });
  }, []);

  const loadOne = useCallback(async (/** @type {string} */ id) => {
    /** @type {Approval} */
    const approval = await get(approvalPath(id));
    merge([approval]);
    return approval;
  }, [merge]);

  const load = useCallback(async () => {
    const isWaiting = currentTab.current === "waiting";
    try {
      /** @type {Approval[]} */
      const loaded = await get(`/api/approvals?state=${isWaiting ? "pending" : "any"}&limit=${MAX_APPROVALS}`);
      setError(null);
      setCut(isWaiting && loaded.length === MAX_APPROVALS);
      if (isWaiting && loaded.length < MAX_APPROVALS) missingFrom(latest.current, loaded).forEach((id) => loadOne(id).catch(() => {}));
      merge(loaded);
    } catch (thrown) {
      setError(asApiError(thrown));
    }
  }, [merge, loadOne]);

  useEffect(() => { load(); }, [tab, load]);
  useEffect(() => { if (isCut && pendingIds(approvals).length < MAX_APPROVALS / 2) load(); }, [isCut, approvals]); // there are more
  useFeedEvents(load, loadOne, setApprovals);
  return { approvals, error, load, merge, loadOne };
}

/**
 * A decision that took effect is final: a list that was read before it may arrive after it. The feed does not say when a
 * decision takes effect, so one that is known only from the feed is not final.
 * @param {Approvals} approvals
 * @param {Approval} loaded
 */
function isNews(approvals, loaded) {
  const known = approvals?.get(loaded.approval_id);
  return loaded.state !== "pending" || !known || known.state === "pending" || known.decision?.at === "" || mayBeWithdrawn(known);
}

/** Whether the decision can be withdrawn, or could a moment ago. @param {Approval} approval */
const mayBeWithdrawn = ({ effective }) => Boolean(effective) && Date.now() < Date.parse(effective ?? "") + LATE;

/** @param {Approvals} approvals */
function pendingIds(approvals) {
  return [...(approvals?.values() ?? [])].filter(({ state }) => state === "pending").map(({ approval_id: id }) => id);
}

/**
 * Pending approvals that are no longer in the list: they were decided while the feed was disconnected.
 * @param {Approvals} approvals
 * @param {Approval[]} loaded
 */
function missingFrom(approvals, loaded) {
  const pending = new Set(loaded.map(({ approval_id: id }) => id));
  return pendingIds(approvals).filter((id) => !pending.has(id));
}

/**
 * @param {() => void} load
 * @param {(id: string) => Promise<Approval>} loadOne
 * @param {(change: (before: Approvals) => Approvals) => void} setApprovals
 */
function useFeedEvents(load, loadOne, setApprovals) {
  useEffect(() => {
    /** @type {Set<string>} */
    const changed = new Set();
    let timer = 0;
    const update = () => {
      const ids = [...changed];
      changed.clear();
      if (ids.length > MAX_SINGLE_LOADS) load();
      else ids.forEach((id) => loadOne(id).catch(() => {}));
    };
    const unsubscribe = [
      feed.on("hello", load),
      feed.on("approval", (event) => {
        setApprovals((before) => applyEvent(before, event));
        changed.add(event.approval_id);
        clearTimeout(timer);
        timer = setTimeout(update, BATCH_INTERVAL);
      }),
    ];
    return () => {
      clearTimeout(timer);
      unsubscribe.forEach((off) => off());
    };
  }, [load, loadOne, setApprovals]);
}

/**
 * Shows a decision before its details are loaded.
 * @param {Approvals} before
 * @param {FeedEvents["approval"]} event
 * @returns {Approvals}
 */
function applyEvent(before, { approval_id: id, state, by = "" }) {
  const approval = before?.get(id);
  if (!before || !approval || approval.state === state || state === "pending") return before;
  const decision = approval.decision ?? { verdict: VERDICTS[state] ?? "reject", by, at: "", attempt: approval.attempt, reason: "", edit: null };
  return new Map([...before, [id, { ...approval, state, decision: state === "superseded" ? null : decision }]]);
}

/**
 * The approvals of a tab: those that wait, the worst first, then the oldest; those that are decided, the latest first. An open
 * approval stays in the list when it is decided.
 * @param {Approvals} approvals
 * @param {Tab} tab
 * @param {string} openId
 */
export function listApprovals(approvals, tab, openId) {
  const all = [...(approvals?.values() ?? [])];
  if (tab === "waiting") {
    return all.filter(({ state, approval_id: id }) => state === "pending" || id === openId).sort((a, b) => WORST_FIRST.indexOf(a.why) - WORST_FIRST.indexOf(b.why) || compareTimes(a.created, b.created));
  }
  return all.filter(({ state }) => state !== "pending").sort((a, b) => compareTimes(decidedAt(b), decidedAt(a)));
}

/** @param {Approval} approval */
const decidedAt = ({ decision, created }) => decision?.at || created;
/** @param {string} a @param {string} b */
const compareTimes = (a, b) => Date.parse(a) - Date.parse(b);
