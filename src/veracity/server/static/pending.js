// How many answers wait for a person, kept up to date by the feed.
import { useEffect, useState } from "./vendor/preact.js";
import { feed } from "./api.js";

export function usePending() {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const known = new Map(); // what the feed told since the last hello, which has counted what was before
    const offs = [
      feed.on("hello", ({ pending }) => {
        known.clear();
        setCount(pending || 0);
      }),
      feed.on("approval", ({ approval_id: id, state }) => {
        const waited = known.get(id) ?? state !== "pending"; // told of for the first time: one that came, or one that went
        const waits = state === "pending";
        known.set(id, waits);
        if (waits !== waited) setCount((count) => Math.max(0, count + (waits ? 1 : -1)));
      }),
    ];
    return () => offs.forEach((off) => off());
  }, []);
  return count;
}
