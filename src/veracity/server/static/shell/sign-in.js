// The sign-in form. After a session has expired it covers the page, which keeps its state.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { withValue } from "../lib/components.js";
import { asApiError, signIn } from "../lib/http.js";
import { t } from "../lib/i18n.js";
import { Icon, LOGO } from "../lib/icons.js";
import { LanguageChoice, ThemeChoice } from "./navigation.js";
/** @import { ApiError } from "../lib/http.js" */

/** @param {{ isExpired?: boolean, problem?: string, onSignedIn: () => Promise<void> }} props */
export function SignIn({ isExpired, problem = "", onSignedIn }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState(problem);
  const [isBusy, setBusy] = useState(false);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const lastFocus = useRef(/** @type {HTMLElement | null} */ (document.activeElement));
  useEffect(() => {
    field.current?.focus();
    return () => queueMicrotask(() => lastFocus.current?.focus({ preventScroll: true })); // once the page is no longer inert
  }, []);

  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!token.trim() || isBusy) return;
    setBusy(true);
    setError("");
    try {
      await signIn(token.trim());
      await onSignedIn();
    } catch (thrown) {
      setError(describeSignInError(asApiError(thrown)));
      field.current?.select();
    } finally {
      setBusy(false);
    }
  };

  return html`<div class=${isExpired ? "shell-cover" : "shell-sign-in-page"} role=${isExpired ? "dialog" : "main"} aria-modal=${isExpired ? "true" : null}
    aria-labelledby="sign-in">
    <form class="card shell-sign-in stack" onSubmit=${submit}>
      <div class="row"><img src=${LOGO} alt="" width="32" height="32" /><h1 id="sign-in">${t("shell.signIn")}</h1></div>
      ${isExpired && html`<p class="muted">${t("shell.signIn.again")}</p>`}
      <p class="muted">${t("shell.signIn.lead")}</p>
      <div class="stack shell-field">
        <label for="token">${t("shell.token")}</label>
        <input id="token" ref=${field} type="password" autocomplete="current-password" spellcheck=${false} autocapitalize="off"
          value=${token} onInput=${withValue(setToken)} aria-invalid=${error ? "true" : null}
          aria-describedby=${error ? "sign-in-error" : null} />
        ${error && html`<p id="sign-in-error" class="notice bad" role="alert"><${Icon} name="warn" /> ${error}</p>`}
      </div>
      <button class="primary" type="submit" disabled=${isBusy}>${t("shell.signIn")}</button>
      <div class="row spread"><${LanguageChoice} /><${ThemeChoice} /></div>
    </form>
  </div>`;
}

/** @param {ApiError} error */
export function describeSignInError(error) {
  return error.status === 401 || error.status === 403 ? t("shell.token.wrong") : error.message;
}
