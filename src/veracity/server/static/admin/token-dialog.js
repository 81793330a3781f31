// A new token, which the server shows only once.
import { html } from "../lib/preact.js";
import { CopyButton, useModal } from "../lib/components.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
/** @import { UserToken } from "../lib/types.d.ts" */

/** @param {{ issued: UserToken, onClose: () => void }} props */
export function TokenDialog({ issued, onClose }) {
  const dialog = useModal(onClose);
  const address = `${location.origin}/#token=${issued.token}`;
  return html`<dialog ref=${dialog} class="dialog admin-token" aria-labelledby="token-title">
    <h2 id="token-title">${t("admin.token.title", { name: printable(issued.name) })}</h2>
    <p class="notice warn"><${Icon} name="warn" /> ${t("admin.token.once")}</p>
    <${Secret} id="issued-token" label=${t("shell.token")} text=${issued.token} />
    <${Secret} id="issued-address" label=${t("admin.token.address")} text=${address} />
    <div class="dialog-actions"><button type="button" class="primary" onClick=${() => dialog.current?.close()}>${t("admin.token.done")}</button></div>
  </dialog>`;
}

/** @param {{ id: string, label: string, text: string }} props */
function Secret({ id, label, text }) {
  const select = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.currentTarget).select();
  return html`<div class="stack shell-field"><label for=${id}>${label}</label>
    <input id=${id} class="admin-secret" readonly value=${text} onFocus=${select} />
    <span class="row"><${CopyButton} label=${t("admin.copy", { what: label })} text=${() => text} /></span></div>`;
}
