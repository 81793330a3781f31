// The approvals that the inbox knows, kept as they are while others decide too. Knows nothing about how they are shown.

import { useCallback, useEffect, useRef, useState } from "./vendor/preact.js";
import { feed, get } from "./api.js";

const MOST = 100;
const GATHER = 120; // milliseconds: what happens at once is looked up at once
const FEW = 4; // approvals looked up one by one; of more, the list is read again

export const addressOf = (id) => `/api/approvals/${encodeURIComponent(id)}`;

/** `known` maps ids to approvals and is null until they were read; `tab` is "waiting" or "decided". */
export function useApprovals(tab) {
  const [known, setKnown] = useState(null);
  const [problem, setProblem] = useState(null);
  const [isCut, setCut] = useState(false);
  const shown = useRef(tab);
  const latest = useRef(known);
  shown.current = tab;
  latest.current = known;

  const merge = useCallback((approvals) => {
    setKnown((before) => new Map([...(before ?? []), ...approvals.filter(isNews(before)).map((one) => [one.approval_id, one])]));
  }, []);

  const lookUp = useCallback(async (id) => {
    const approval = await get(addressOf(id));
    merge([approval]);
    return approval;
  }, [merge]);

  const load = useCallback(async () => {
    const wanted = shown.current;
    try {
      const read = await get(`/api/approvals?state=${wanted === "waiting" ? "pending" : "any"}&limit=${MOST}`);
      setProblem(null);
      setCut(wanted === "waiting" && read.length === MOST);
      if (wanted === "waiting" && read.length < MOST) goneFrom(latest.current, read).forEach((id) => lookUp(id).catch(() => {}));
      merge(read);
    } catch (refused) {
      setProblem(refused);
    }
  }, [merge, lookUp]);

  useEffect(() => { load(); }, [tab, load]);
  useEffect(() => { if (isCut && countWaiting(known) < MOST / 2) load(); }, [isCut, known]); // there are more to come
  useFeed(load, lookUp, setKnown);
  return { known, problem, load, merge, lookUp };
}

/** What is decided stays decided: a list that was read before may arrive after. */
const isNews = (known) => (one) => one.state !== "pending" || (known?.get(one.approval_id)?.state ?? "pending") === "pending";

/** What was known as waiting and is not in the list of those that wait was decided while nobody listened. */
function goneFrom(known, read) {
  const waiting = new Set(read.map((one) => one.approval_id));
  const ids = [...(known?.values() ?? [])].filter((one) => one.state === "pending").map((one) => one.approval_id);
  return ids.filter((id) => !waiting.has(id));
}

function countWaiting(known) {
  return [...(known?.values() ?? [])].filter((one) => one.state === "pending").length;
}

function useFeed(load, lookUp, setKnown) {
  useEffect(() => {
    let gathered = new Set();
    let timer = 0;
    const catchUp = () => {
      const ids = [...gathered];
      gathered = new Set();
      if (ids.length > FEW) load();
      else ids.forEach((id) => lookUp(id).catch(() => {}));
    };
    const happened = (event) => {
      setKnown((before) => told(before, event));
      gathered.add(event.approval_id);
      clearTimeout(timer);
      timer = setTimeout(catchUp, GATHER);
    };
    const off = [feed.on("approval", happened), feed.on("hello", load)];
    return () => {
      clearTimeout(timer);
      off.forEach((stop) => stop());
    };
  }, [load, lookUp, setKnown]);
}

/** What an event tells by itself is shown before the rest is looked up. */
function told(before, { approval_id: id, state, by }) {
  const one = before?.get(id);
  if (!one || one.state === state || state === "pending") return before;
  const verdict = state === "approved" ? "approve" : "reject";
  const decision = state === "superseded" ? null : one.decision ?? { verdict, by: by ?? "", at: null, reason: "", edit: null };
  return new Map([...before, [id, { ...one, state, decision }]]);
}

/** Those of a tab in its order. The one that is open stays where it is when it is decided. */
export function listed(known, tab, openId) {
  const all = [...(known?.values() ?? [])];
  if (tab === "waiting") {
    return all.filter((one) => one.state === "pending" || one.approval_id === openId).sort((a, b) => compare(a.created, b.created));
  }
  return all.filter((one) => one.state !== "pending").sort((a, b) => compare(decidedAt(b), decidedAt(a)));
}

const decidedAt = (one) => one.decision?.at ?? one.created;
const compare = (a, b) => new Date(a) - new Date(b);
