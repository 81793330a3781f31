// Choosing the person who should decide a draft. Others may still decide it.
import { html, useState } from "../lib/preact.js";
import { withValue } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { asApiError, get, put } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { printable } from "../lib/text.js";
import { approvalPath } from "./store.js";
/** @import { Approval, Me } from "../lib/types.d.ts" */

/** @param {string} id @param {string} assignee @returns {Promise<Approval>} */
export const assign = (id, assignee) => put(`${approvalPath(id)}/assignee`, { assignee });

/** The names of those who may decide. */
export function useApprovers() {
  return useLoaded(() => /** @type {Promise<string[]>} */ (get("/api/approvers")), []).value ?? [];
}

/** @param {{ me: Me, approval: Approval, merge: (approvals: Approval[]) => void }} props */
export function Assignee({ me, approval, merge }) {
  const [problem, setProblem] = useState("");
  const names = useApprovers();
  const choose = async (/** @type {string} */ name) => {
    try {
      merge([await assign(approval.approval_id, name)]);
      setProblem("");
    } catch (error) {
      setProblem(asApiError(error).message);
    }
  };
  const choices = [...new Set([...names, approval.assignee])].filter(Boolean);
  return html`<label class="row inbox-assignee">${t("inbox.assignee")}
      <select class="small" value=${approval.assignee} onChange=${withValue(choose)}>
        <option value="">${t("inbox.assignee.nobody")}</option>
        ${choices.map((name) => html`<option key=${name} value=${name} selected=${name === approval.assignee}>
          ${name === me.user ? t("inbox.assignee.me", { name: printable(name) }) : printable(name)}</option>`)}
      </select></label>${problem && html`<span role="alert">${problem}</span>`}`;
}
