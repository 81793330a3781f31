// Who is signed in, and as what: asked again when that may have changed. Knows nothing about what is shown.
import { useCallback, useEffect, useRef, useState } from "./vendor/preact.js";
import { feed, get, onSignedOut, signIn, signOut } from "./api.js";
import { t } from "./i18n.js";
import { takeToken } from "./routes.js";
import { told } from "./signin.js";

const LAST_USER = "veracity.user";
const STALE = 60000; // milliseconds after which whoever comes back to the page is looked up again

// {me, state: "starting" | "out" | "in" | "again" | "offline", problem, enter, start(token), leave}
export function useSession(arrivedWith) {
  const [session, setSession] = useState({ me: null, state: "starting", problem: "" });
  const readAt = useRef(0);
  const user = useRef(lastUser());

  const read = useCallback(async () => {
    const me = await get("/api/me");
    if (user.current && user.current !== me.user) await startOver();
    user.current = me.user;
    try { sessionStorage.setItem(LAST_USER, me.user); } catch { /* then nothing that was typed is kept either */ }
    readAt.current = Date.now();
    return me;
  }, []);

  const enter = useCallback(async () => {
    const me = await read();
    setSession({ me, state: "in", problem: "" });
    feed.start();
  }, []);

  const start = useCallback(async (token) => {
    try {
      if (token) await signIn(token);
      await enter();
    } catch (refused) {
      const isOffline = refused.kind === "Offline";
      setSession({ me: null, state: isOffline ? "offline" : "out", problem: isOffline || token ? told(refused) : "" });
    }
  }, []);

  useEffect(() => {
    start(arrivedWith);
    const onToken = () => { if (location.hash.startsWith("#token=")) start(takeToken()); };
    window.addEventListener("hashchange", onToken);
    const off = onSignedOut(() => {
      feed.stop();
      setSession((session) => (session.state === "in" ? { ...session, state: "again" } : session));
    });
    return () => { off(); window.removeEventListener("hashchange", onToken); };
  }, []);
  useFreshness(session.state === "in", readAt, async () => {
    const me = await read().catch(() => null);
    if (me) setSession((session) => (session.state === "in" ? { ...session, me } : session));
  });

  const leave = async () => {
    try {
      await signOut();
    } catch (refused) {
      if (refused.status !== 401) return setSession({ ...session, problem: t("shell.signOut.failed", { problem: refused.message }) });
    }
    return startOver();
  };
  return { ...session, enter, start, leave };
}

function lastUser() {
  try { return sessionStorage.getItem(LAST_USER) || ""; } catch { return ""; }
}

// Nothing that one user saw or typed is there for the next. Never ends: the page is loaded anew.
function startOver() {
  try { sessionStorage.clear(); } catch { /* then there is nothing in it */ }
  location.replace("/");
  return new Promise(() => {});
}

// A role may change while the page is open: it is looked up after a break of the connection and of the attention.
function useFreshness(isIn, readAt, look) {
  useEffect(() => {
    if (!isIn) return undefined;
    let wasLost = false;
    const onFocus = () => { if (Date.now() - readAt.current > STALE) look(); };
    const offs = [
      feed.on("state", (state) => { wasLost ||= state === "reconnecting"; }),
      feed.on("hello", () => {
        if (wasLost) look();
        wasLost = false;
      }),
    ];
    window.addEventListener("focus", onFocus);
    return () => {
      offs.forEach((off) => off());
      window.removeEventListener("focus", onFocus);
    };
  }, [isIn]);
}
