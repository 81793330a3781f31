// Signing in with a token. With `isAgain` it lies over the page, which stays as it was beneath.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { signIn } from "./api.js";
import { t } from "./i18n.js";
import { Icon, LOGO } from "./icons.js";
import { LanguageChoice, ThemeChoice } from "./navigation.js";

export function SignIn({ isAgain, problem, onSignedIn }) {
  const [token, setToken] = useState("");
  const [trouble, setTrouble] = useState(problem);
  const [isBusy, setBusy] = useState(false);
  const field = useRef(null);
  const before = useRef(document.activeElement);
  useEffect(() => {
    field.current.focus();
    return () => queueMicrotask(() => before.current.focus({ preventScroll: true })); // once the page beneath can be reached again
  }, []);

  const submit = async (event) => {
    event.preventDefault();
    if (!token.trim() || isBusy) return;
    setBusy(true);
    setTrouble("");
    try {
      await signIn(token.trim());
      await onSignedIn();
    } catch (refused) {
      setTrouble(told(refused));
      field.current?.select();
    } finally {
      setBusy(false);
    }
  };

  return html`<div class=${isAgain ? "shell-cover" : "shell-door"} role=${isAgain ? "dialog" : null} aria-modal=${isAgain ? "true" : null}
    aria-labelledby="sign-in">
    <form class="card shell-sign-in stack" onSubmit=${submit}>
      <div class="row"><img src=${LOGO} alt="" width="32" height="32" /><h1 id="sign-in">${t("shell.signIn")}</h1></div>
      <p class="muted">${t(isAgain ? "shell.signIn.again" : "shell.signIn.lead")}</p>
      <div class="stack shell-field">
        <label for="token">${t("shell.token")}</label>
        <input id="token" ref=${field} type="password" autocomplete="current-password" spellcheck=${false} autocapitalize="off"
          value=${token} onInput=${(event) => setToken(event.target.value)} aria-invalid=${trouble ? "true" : null}
          aria-describedby=${trouble ? "sign-in-trouble" : null} />
        ${trouble && html`<p id="sign-in-trouble" class="notice bad" role="alert"><${Icon} name="warn" /> ${trouble}</p>`}
      </div>
      <button class="primary" type="submit" disabled=${isBusy}>${t("shell.signIn")}</button>
      <div class="row spread"><${LanguageChoice} /><${ThemeChoice} /></div>
    </form>
  </div>`;
}

export function told(refused) {
  if (refused.status === 401 || refused.status === 403) return t("shell.token.wrong");
  return refused.kind === "Offline" ? t("shell.offline") : refused.message;
}
