// Undoing decisions: they are stored at once and take effect after some seconds. Until then a bar offers to withdraw them.
import { html, useCallback, useEffect, useRef, useState } from "../lib/preact.js";
import { asApiError, del } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
import { shortcut, useKeys } from "./keys.js";
import { approvalPath } from "./store.js";
/** @import { Approval } from "../lib/types.d.ts" */

/** @typedef {{ approvals: Approval[], until: number }} Held decisions that were made together, and when they take effect */

const SHOWN_AFTER = 4000; // milliseconds that the bar without a button stays

/** Whether the decision can still be withdrawn. @param {Approval} approval */
export const isHeld = ({ state, effective }) => state !== "pending" && Boolean(effective) && Date.parse(effective ?? "") > Date.now();

/**
 * `hold` gets decisions that were just made.
 * @param {(approvals: Approval[]) => void} merge
 * @param {number} seconds
 * @param {(approval: Approval) => void} onUndone
 */
export function useUndo(merge, seconds, onUndone) {
  const [stack, setStack] = useState(/** @type {Held[]} */ ([])); // the latest last
  const [problem, setProblem] = useState("");
  const hold = useCallback((/** @type {Approval[]} */ approvals) => {
    setProblem("");
    setStack((before) => [...before.filter(({ until }) => until > Date.now()), { approvals, until: Date.now() + seconds * 1000 }]);
  }, [seconds]);
  const held = stack.at(-1) ?? null;
  const drop = () => setStack((before) => before.slice(0, -1).filter(({ until }) => until > Date.now()));
  const latest = useRef(/** @type {Held | null} */ (null));
  const undo = async () => {
    if (!held || held === latest.current) return; // pressed twice before the bar was drawn again
    latest.current = held;
    drop();
    const results = await Promise.allSettled(held.approvals.map(({ approval_id: id }) => del(`${approvalPath(id)}/decision`)));
    const undone = results.flatMap((result) => (result.status === "fulfilled" ? [/** @type {Approval} */ (result.value)] : []));
    const failed = results.find((result) => result.status === "rejected");
    merge(undone);
    if (failed) setProblem(asApiError(/** @type {PromiseRejectedResult} */ (failed).reason).message);
    if (undone.length && held === latest.current) onUndone(undone[0]); // responses arrive in any order
  };
  return { held, hold, undo, problem, clear: () => { drop(); setProblem(""); } };
}

/** @param {{ held: Held | null, problem: string, onUndo: () => void, onClose: () => void }} props */
export function UndoBar({ held, problem, onUndo, onClose }) {
  const left = useSecondsLeft(held, onClose);
  useKeys({ z: () => (held && left > 0 ? onUndo() : false) });
  return html`<div class="inbox-undo" role="status">
    ${problem ? html`<p class="notice bad">${t("inbox.undo.failed", { problem })}</p>` : held && html`<p class="notice">
      <${Icon} name="check" /><span>${describe(held.approvals)}</span>
      ${left > 0 && html`<button type="button" onClick=${onUndo} aria-keyshortcuts=${shortcut("z")}>
        ${t("inbox.undo")} <span aria-hidden="true">${left}</span><kbd aria-hidden="true">z</kbd></button>`}</p>`}
  </div>`;
}

/** @param {Held | null} held @param {() => void} onClose */
function useSecondsLeft(held, onClose) {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!held) return undefined;
    const timer = setInterval(() => (Date.now() > held.until + SHOWN_AFTER ? onClose() : redraw((count) => count + 1)), 250);
    return () => clearInterval(timer);
  }, [held]);
  return held ? Math.max(0, Math.ceil((held.until - Date.now()) / 1000)) : 0;
}

/** @param {Approval[]} approvals */
function describe(approvals) {
  const [{ state, decision, question }] = approvals;
  if (approvals.length > 1) return t("inbox.undo.many", { n: approvals.length, what: t(`inbox.state.${state}`) });
  return t("inbox.undo.one", { what: t(`inbox.state.${decision?.edit ? "edited" : state}`), question: printable(question) });
}
