// The draft as somebody changes it before it goes out, with the changes shown while they are typed.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { t } from "./i18n.js";
import { Icon } from "./icons.js";
import { Diff } from "./diff.js";
import { sendsForm } from "./inbox-deciding.js";
import { uncited } from "./uncited.js";
import { visible } from "./visible.js";

const SHOWN = 5; // of the sentences without a mark
const PAUSE = 150; // milliseconds without a key, after which the changes are drawn anew

export function EditForm({ approval, text, setText, isBusy, onSend, onCancel }) {
  const original = approval.draft.text;
  const field = useRef(null);
  const [drawn, setDrawn] = useState(text);
  const isEmpty = !text.trim();

  useLayoutEffect(() => { // at once: the next key belongs to it
    field.current.focus();
    field.current.setSelectionRange(0, 0);
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => setDrawn(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);

  const submit = (event) => {
    event.preventDefault();
    if (!isEmpty) onSend();
  };
  return html`
    <form class="inbox-form inbox-edit" onSubmit=${submit} aria-labelledby="inbox-edit-title">
      <h3 id="inbox-edit-title">${t("inbox.form.edit")}</h3>
      <label for="inbox-edit-text">${t("inbox.form.edit.text")}</label>
      <textarea id="inbox-edit-text" ref=${field} rows="8" lang=${approval.draft.language || null} maxlength="20000" value=${text} aria-describedby="inbox-edit-hint"
        onInput=${(event) => setText(event.target.value)} onKeyDown=${(event) => sendsForm(event) && submit(event)}></textarea>
      <p id="inbox-edit-hint" class=${isEmpty ? "inbox-wrong small" : "muted small"} aria-live="polite">
        ${t(isEmpty ? "inbox.form.edit.empty" : "inbox.form.edit.hint")}</p>
      <${Uncited} text=${drawn} hasEvidence=${approval.draft.evidence.length > 0} />
      ${drawn !== original && html`
        <h4>${t("inbox.form.edit.changes")}</h4>
        <${Diff} language=${approval.draft.language} before=${visible(original)} after=${visible(drawn)} />`}
      <div class="row inbox-bar">
        <button type="submit" class="primary" disabled=${isBusy || isEmpty}>
          ${t(text === original ? "inbox.approve" : "inbox.form.edit.send")}</button>
        <button type="button" class="quiet" disabled=${isBusy} onClick=${onCancel}>${t("inbox.form.cancel")}</button>
        ${text !== original && html`
          <button type="button" class="quiet" onClick=${() => setText(original)}>${t("inbox.form.edit.reset")}</button>`}
      </div>
    </form>`;
}

/** What readers will see as unsupported, before it is sent. Where there is no evidence there is nothing to cite. */
function Uncited({ text, hasEvidence }) {
  const found = hasEvidence ? uncited(text) : [];
  return html`<div role="status">${found.length > 0 && html`
    <div class="notice warn inbox-uncited"><${Icon} name="warn" size=${16} />
      <div><p>${t("inbox.form.edit.uncited", { n: found.length })}</p>
        <ul>${found.slice(0, SHOWN).map((one) => html`<li dir="auto">${visible(one)}</li>`)}
          ${found.length > SHOWN && html`<li>…</li>`}</ul></div></div>`}</div>`;
}
