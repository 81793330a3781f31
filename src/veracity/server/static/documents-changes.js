// What is being done to the documents, by whomever and in whichever tab. Knows nothing about what this tab does itself.
import { html, useEffect, useState } from "./vendor/preact.js";
import { feed, get } from "./api.js";
import { number, t } from "./i18n.js";
import { visible } from "./visible.js";

const NOTHING = { under_way: false, what: "", name: "", waiting: 0 };
const CALM = 100; // milliseconds: the end of one change and the beginning of the next are one event
const LASTING = 600; // what is over sooner is not worth a word

export function useChanges() {
  const [now, setNow] = useState(NOTHING);
  useEffect(() => {
    let timer = 0;
    let isThere = true;
    const look = async () => {
      const found = await get("/api/documents/changes").catch(() => NOTHING); // the list tells what is wrong
      if (isThere) setNow(found);
    };
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(look, CALM);
    };
    look();
    const offs = ["documents", "hello"].map((kind) => feed.on(kind, later));
    return () => {
      isThere = false;
      clearTimeout(timer);
      offs.forEach((off) => off());
    };
  }, []);
  return now;
}

// One sentence without its end: a file is being read, and so on.
export function reasonOf(change) {
  return t(`documents.change_${change.what || "upload"}`, { name: visible(change.name) });
}

export function UnderWay({ change, isOwn }) {
  const isShown = useLasting(change.under_way && !isOwn);
  const waiting = { n: change.waiting, count: number(change.waiting) };
  return html`<div role="status">${isShown && html`<p class="notice documents-under-way">
    <span class="spinner" aria-hidden="true"></span><span><bdi>${reasonOf(change)}</bdi>
    ${change.waiting > 0 && html`<span class="muted"> · ${t("documents.change_waiting", waiting)}</span>`}</span></p>`}</div>`;
}

function useLasting(isTrue) {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!isTrue) return setLasts(false);
    const timer = setTimeout(() => setLasts(true), LASTING);
    return () => clearTimeout(timer);
  }, [isTrue]);
  return lasts && isTrue;
}
