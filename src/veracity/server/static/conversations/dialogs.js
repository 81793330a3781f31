// Dialogs to rename and to export a conversation.
import { html, useState } from "../lib/preact.js";
import { useModal, withValue } from "../lib/components.js";
import { asApiError, patch } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
/** @import { ConversationSummary } from "../lib/types.d.ts" */

const MAX_LENGTH = 500; // the server's limit
const FORMATS = { md: "Markdown", json: "JSON" };

/** @param {{ conversation: ConversationSummary, onRenamed: () => void, onClose: () => void }} props */
export function RenameDialog({ conversation, onRenamed, onClose }) {
  const dialog = useModal(onClose);
  const [title, setTitle] = useState(conversation.title);
  const [problem, setProblem] = useState("");
  const rename = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await patch(`/api/conversations/${encodeURIComponent(conversation.conversation)}`, { title });
      onRenamed();
    } catch (thrown) {
      setProblem(asApiError(thrown).message);
    }
  };
  return html`<dialog ref=${dialog} class="dialog" aria-labelledby="rename-title">
    <h2 id="rename-title">${t("conversations.rename.ask")}</h2>
    <form id="rename" class="stack" onSubmit=${rename}>
      <label class="stack"><span>${t("conversations.rename.title")}</span>
        <input autofocus type="text" maxlength=${MAX_LENGTH} value=${title} onInput=${withValue(setTitle)} /></label>
      <p class="small muted">${t("conversations.rename.hint")}</p>
      ${problem && html`<p class="notice bad" role="alert">${problem}</p>`}
    </form>
    <div class="dialog-actions"><button type="button" onClick=${() => dialog.current?.close()}>${t("conversations.rename.cancel")}</button>
      <button type="submit" form="rename" class="primary">${t("conversations.rename.save")}</button></div>
  </dialog>`;
}

/** @param {{ conversation: string, title: string, onClose: () => void }} props */
export function ExportDialog({ conversation, title, onClose }) {
  const dialog = useModal(onClose);
  const address = (/** @type {string} */ format) => `/api/conversations/${encodeURIComponent(conversation)}/export?format=${format}`;
  return html`<dialog ref=${dialog} class="dialog" aria-labelledby="export-title">
    <h2 id="export-title">${t("conversations.export.ask")}</h2>
    ${title && html`<p class="dialog-named">${title}</p>`}
    <p>${t("conversations.export.note")}</p>
    <div class="dialog-actions"><button type="button" onClick=${() => dialog.current?.close()}>${t("conversations.export.close")}</button>
      ${Object.entries(FORMATS).map(([format, name]) => html`<a class="button" download href=${address(format)}><${Icon} name="download" /> ${name}</a>`)}</div>
  </dialog>`;
}
