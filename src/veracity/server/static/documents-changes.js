// What is being done to the documents, by whomever and in whichever tab. Knows nothing about what this tab does itself.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { del, feed, get } from "./api.js";
import { number, t } from "./i18n.js";
import { visible } from "./visible.js";

const NOTHING = { under_way: false, number: 0, what: "", name: "", waiting: 0, cancelled_by: "" };
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

export function UnderWay({ change, me }) {
  const isShown = useLasting(change.under_way);
  const [problem, setProblem] = useState("");
  const wasSeen = useRef(false); // whoever comes later need not know who cancelled what
  wasSeen.current ||= change.under_way;
  const cancelled = (key) => change.cancelled_by === me.user
    ? t(`documents.${key}_you`)
    : t(`documents.${key}`, { name: visible(change.cancelled_by) });
  const isOver = !change.under_way && wasSeen.current && change.cancelled_by;
  const mayCancel = isShown && me.role === "admin" && change.what !== "remove" && !change.cancelled_by;
  const cancel = () => del(`/api/documents/changes?number=${change.number}`).then(
    () => setProblem(""),
    (met) => setProblem(met.status === 404 ? "" : met.message), // 404: it has ended
  );
  return html`<div class=${isShown ? "notice documents-under-way" : ""}>
    ${isShown && html`<span class="spinner" aria-hidden="true"></span>`}
    <div role="status">
      ${isShown && html`<bdi>${reasonOf(change)}</bdi>
        ${change.cancelled_by && html` · <bdi>${cancelled("change_ending")}</bdi>`}
        ${change.waiting > 0 && html`<span class="muted"> · ${waiting(change)}</span>`}`}
      ${isOver && html`<p class="notice">${cancelled("change_cancelled")}</p>`}
      ${problem && html`<p>${problem}</p>`}
    </div>
    ${mayCancel && html`<button class="small" onClick=${cancel}>${t("documents.cancel")}</button>`}
  </div>`;
}

function waiting({ waiting: count }) {
  return t("documents.change_waiting", { n: count, count: number(count) });
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
