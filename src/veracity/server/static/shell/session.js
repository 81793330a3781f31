// The signed-in user and their role, refreshed when they may have changed.
import { useCallback, useEffect, useRef, useState } from "../lib/preact.js";
import { feed } from "../lib/feed.js";
import { asApiError, get, onSignedOut, signIn, signOut } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { takeToken } from "../lib/routes.js";
import { session as storage } from "../lib/storage.js";
import { setScales, setThresholds } from "../lib/strength.js";
import { describeSignInError } from "./sign-in.js";
/** @import { Me } from "../lib/types.d.ts" */

/** @typedef {{ me: Me | null, state: "starting" | "out" | "in" | "expired" | "offline", problem: string }} Session */

const LAST_USER = "veracity.user";
const STALE_AFTER = 60000; // milliseconds; when the window gets focus after that, the user is read again

/** @param {string} initialToken */
export function useSession(initialToken) {
  const [session, setSession] = useState(/** @type {Session} */ ({ me: null, state: "starting", problem: "" }));
  const readAt = useRef(0);
  const user = useRef(storage.get(LAST_USER) || "");

  const readUser = useCallback(async () => {
    /** @type {Me} */
    const me = await get("/api/me");
    setScales(me.scales);
    setThresholds(me.language_thresholds);
    if (user.current && user.current !== me.user) await startOver();
    user.current = me.user;
    storage.set(LAST_USER, me.user);
    readAt.current = Date.now();
    return me;
  }, []);

  const enter = useCallback(async () => {
    const me = await readUser();
    setSession({ me, state: "in", problem: "" });
    feed.start();
  }, []);

  const start = useCallback(async (/** @type {string} */ token) => {
    try {
      if (token) await signIn(token);
      await enter();
    } catch (thrown) {
      const error = asApiError(thrown);
      const isOffline = error.kind === "Offline";
      const problem = isOffline || token ? describeSignInError(error) : "";
      setSession({ me: null, state: isOffline ? "offline" : "out", problem });
    }
  }, []);

  useEffect(() => {
    start(initialToken);
    const onToken = () => { if (location.hash.startsWith("#token=")) start(takeToken()); };
    window.addEventListener("hashchange", onToken);
    const unsubscribe = onSignedOut(() => {
      feed.stop();
      setSession((session) => (session.state === "in" ? { ...session, state: "expired" } : session));
    });
    return () => { unsubscribe(); window.removeEventListener("hashchange", onToken); };
  }, []);
  useRefresh(session.state === "in", readAt, async () => {
    const me = await readUser().catch(() => null);
    if (me) setSession((session) => (session.state === "in" ? { ...session, me } : session));
  });

  const leave = async () => {
    try {
      await signOut();
    } catch (thrown) {
      const error = asApiError(thrown);
      if (error.status !== 401) return setSession({ ...session, problem: t("shell.signOut.failed", { problem: error.message }) });
    }
    return startOver();
  };
  return { ...session, enter, start, leave };
}

/** Reloads the page without the last user's data. Never resolves. @returns {Promise<never>} */
function startOver() {
  storage.clear();
  location.replace("/");
  return new Promise(() => {});
}

/**
 * A role may change while the page is open: calls `refresh` after a reconnection, and when a stale window gets focus.
 * @param {boolean} isSignedIn
 * @param {{ current: number }} readAt
 * @param {() => void} refresh
 */
function useRefresh(isSignedIn, readAt, refresh) {
  useEffect(() => {
    if (!isSignedIn) return undefined;
    let wasLost = false;
    const onFocus = () => { if (Date.now() - readAt.current > STALE_AFTER) refresh(); };
    const unsubscribe = [
      feed.on("state", (state) => { wasLost ||= state === "reconnecting"; }),
      feed.on("hello", () => {
        if (wasLost) refresh();
        wasLost = false;
      }),
    ];
    window.addEventListener("focus", onFocus);
    return () => {
      unsubscribe.forEach((off) => off());
      window.removeEventListener("focus", onFocus);
    };
  }, [isSignedIn]);
}
