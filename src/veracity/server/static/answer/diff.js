// What changed between two texts as they read. The server compares them, so that receipts and the page mark the same changes.
import { html, useEffect, useState } from "../lib/preact.js";
import { post } from "../lib/http.js";
import { t } from "../lib/i18n.js";
/** @import { Difference } from "../lib/types.d.ts" */

const MAX_CACHED = 50;

/** @type {Map<string, Promise<Difference[]>>} */
const cache = new Map();

/** @param {string} before @param {string} after @returns {Promise<Difference[]>} */
function compare(before, after) {
  const key = JSON.stringify([before, after]);
  const cached = cache.get(key) ?? post("/api/differences", { before, after });
  cache.delete(key); // and last again, so that the oldest is dropped first
  cache.set(key, cached);
  cached.catch(() => cache.delete(key));
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value ?? "");
  return cached;
}

/**
 * Shows the previous differences until new ones arrive, and the two whole texts when the request fails.
 * @param {string} before
 * @param {string} after
 */
function useDifferences(before, after) {
  const [differences, setDifferences] = useState(/** @type {Difference[] | null} */ (null));
  useEffect(() => {
    let isCurrent = true;
    /** @type {Difference[]} */
    const replaced = [{ kind: "gone", text: before }, { kind: "new", text: after }];
    compare(before, after).catch(() => replaced).then((pieces) => isCurrent && setDifferences(pieces));
    return () => { isCurrent = false; };
  }, [before, after]);
  return differences;
}

/** @param {{ before: string, after: string, label?: string, language?: string | null }} props */
export function Diff({ before, after, label, language }) {
  if (before === after) return html`<p class="diff-same">${t("inbox.diff.same")}</p>`;
  return html`<${Changes} before=${before} after=${after} label=${label ?? t("inbox.diff.label")} language=${language} />`;
}

/** @param {{ before: string, after: string, label: string, language?: string | null }} props */
function Changes({ before, after, label, language }) {
  const differences = useDifferences(before, after);
  if (!differences) return html`<p class="muted">${t("shell.loading")}</p>`;
  if (differences.every(({ kind }) => kind === "same")) return html`<p class="diff-same">${t("inbox.diff.form")}</p>`;
  return html`<div class="diff" lang=${language || null} role="group" aria-label=${label}>${differences.map(renderPiece)}</div>`;
}

/** @param {Difference} difference */
function renderPiece({ kind, text }) {
  if (kind === "same") return text;
  const label = t(kind === "gone" ? "inbox.diff.gone" : "inbox.diff.new");
  const spoken = html`<span class="visually-hidden" lang=${document.documentElement.lang}>${label} </span>`;
  return kind === "gone" ? html`<del>${spoken}${text}</del>` : html`<ins>${spoken}${text}</ins>`;
}
