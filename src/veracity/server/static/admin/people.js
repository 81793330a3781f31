// The people of the workspace: add, change the role, renew the token, remove. A token is shown once.
import { html, useRef, useState } from "../lib/preact.js";
import { ConfirmDialog, ErrorNotice, Loading, withValue } from "../lib/components.js";
import { useLoaded } from "../lib/feed.js";
import { asApiError, del, get, post, put } from "../lib/http.js";
import { ago, dateTime, t } from "../lib/i18n.js";
import { Icon } from "../lib/icons.js";
import { printable } from "../lib/text.js";
import { TokenDialog } from "./token-dialog.js";
/** @import { Me, User, UserToken } from "../lib/types.d.ts" */

/** @typedef {{ renewing?: User, removing?: User, issued?: UserToken }} Open a dialog */

/** @type {User["role"][]} */
const ROLES = ["asker", "approver", "admin"];
const userPath = (/** @type {string} */ part, /** @type {User} */ { name }) => `/api/user${part}?name=${encodeURIComponent(name)}`;

/** @param {{ me: Me }} props */
export function People({ me }) {
  const { value: people, error, reload } = useLoaded(() => /** @type {Promise<User[]>} */ (get("/api/users")), []);
  const [open, setOpen] = useState(/** @type {Open} */ ({}));
  const [message, setMessage] = useState({ text: "", isBad: false });
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const close = () => setOpen({});
  const issue = (/** @type {UserToken} */ issued) => {
    setMessage({ text: "", isBad: false });
    setOpen({ issued });
    reload();
  };
  const changeRole = async (/** @type {User} */ person, /** @type {string} */ role) => {
    setMessage({ text: "", isBad: false });
    try {
      await put(userPath("/role", person), { role });
      setMessage({ text: t("admin.role.changed", { name: printable(person.name), role: t(`shell.role.${role}`) }), isBad: false });
    } catch (thrown) {
      setMessage({ text: asApiError(thrown).message, isBad: true });
    }
    reload();
  };
  const onRemoved = (/** @type {User} */ person) => {
    close();
    setMessage({ text: t("admin.removed", { name: printable(person.name) }), isBad: false });
    list.current?.focus({ preventScroll: true }); // its row disappears
    reload();
  };

  return html`<p class="muted">${t("admin.people.intro")}</p>
    <${AddForm} onAdded=${issue} onInput=${() => setMessage({ text: "", isBad: false })} />
    <div role="status">${message.text && html`<p class=${`notice ${message.isBad ? "bad" : "good"}`}>${message.text}</p>`}</div>
    ${error && html`<${ErrorNotice} text=${error.message} onRetry=${reload} />`}
    ${!people && !error && html`<${Loading} text=${t("shell.loading")} />`}
    ${people && html`<ul class="admin-people" tabindex="-1" ref=${list} aria-label=${t("admin.tab.people")}>${people.map((person) => html`
      <${Person} key=${person.name} person=${person} me=${me} onRole=${changeRole} setOpen=${setOpen} />`)}</ul>`}
    ${people?.length === 0 && html`<p class="empty">${t("admin.people.none")}</p>`}
    ${open.renewing && html`<${RenewDialog} person=${open.renewing} onIssued=${issue} onClose=${close} />`}
    ${open.removing && html`<${RemoveDialog} person=${open.removing} me=${me} onRemoved=${onRemoved} onClose=${close} />`}
    ${open.issued && html`<${TokenDialog} issued=${open.issued} onClose=${close} />`}`;
}

/** `onInput` is called when somebody types or chooses. @param {{ onAdded: (issued: UserToken) => void, onInput: () => void }} props */
function AddForm({ onAdded, onInput }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("asker");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isBusy || !name.trim()) return;
    setBusy(true);
    setProblem("");
    try {
      onAdded(await post("/api/users", { name: name.trim(), role }));
      setName("");
    } catch (thrown) {
      setProblem(asApiError(thrown).message);
    }
    setBusy(false);
  };
  const clear = () => { // what was wrong is being corrected
    setProblem("");
    onInput();
  };
  return html`<form class="card admin-add" onSubmit=${submit} onInput=${clear}>
    <label>${t("admin.name")}<input value=${name} onInput=${withValue(setName)} maxlength="200" autocomplete="off" spellcheck=${false} required
      aria-invalid=${problem ? "true" : null} aria-describedby=${problem ? "admin-problem" : null} /></label>
    <label>${t("admin.role")}<${RoleChoice} role=${role} label=${t("admin.role")} onChange=${setRole} /></label>
    <button class="primary" type="submit" disabled=${isBusy}><${Icon} name="plus" /> ${t("admin.add")}</button>
    <p class="small muted">${t(`admin.role.${role}`)}</p>
    ${problem && html`<p id="admin-problem" class="notice bad" role="alert">${problem}</p>`}
  </form>`;
}

/** @param {{ role: string, label: string, onChange: (role: string) => void }} props */
function RoleChoice({ role, label, onChange }) {
  return html`<select value=${role} aria-label=${label} onChange=${withValue(onChange)}>
    ${ROLES.map((name) => html`<option key=${name} value=${name} selected=${name === role}>${t(`shell.role.${name}`)}</option>`)}</select>`;
}

/** @param {{ person: User, me: Me, onRole: (person: User, role: string) => void, setOpen: (open: Open) => void }} props */
function Person({ person, me, onRole, setOpen }) {
  const name = printable(person.name);
  const seen = person.last_seen ? t("admin.seen", { when: ago(person.last_seen) }) : t("admin.unseen");
  return html`<li>
    <span class="admin-person"><strong><bdi>${name}</bdi></strong>${person.name === me.user && html` <span class="badge">${t("admin.you")}</span>`}
      <span class="small muted" title=${dateTime(person.created)}>${t("admin.since", { when: ago(person.created) })} · ${seen}</span></span>
    <${RoleChoice} role=${person.role} label=${t("admin.role.of", { name })} onChange=${(/** @type {string} */ role) => onRole(person, role)} />
    <button type="button" class="small" aria-label=${t("admin.renew.of", { name })} onClick=${() => setOpen({ renewing: person })}>
      <${Icon} name="again" size=${16} /> ${t("admin.renew")}</button>
    <button type="button" class="quiet icon" title=${t("admin.remove")} aria-label=${t("admin.remove.of", { name })}
      onClick=${() => setOpen({ removing: person })}><${Icon} name="trash" /></button>
  </li>`;
}

/**
 * Runs an action of a dialog once at a time, and keeps its error.
 * @param {() => Promise<void>} act
 */
function useAction(act) {
  const [state, setState] = useState({ isBusy: false, problem: "" });
  const run = async () => {
    setState({ isBusy: true, problem: "" });
    await act().catch((thrown) => setState({ isBusy: false, problem: asApiError(thrown).message }));
  };
  return { ...state, run };
}

/** @param {{ person: User, onIssued: (issued: UserToken) => void, onClose: () => void }} props */
function RenewDialog({ person, onIssued, onClose }) {
  const action = useAction(async () => onIssued(await post(userPath("/token", person))));
  return html`<${ConfirmDialog} title=${t("admin.renew.ask")} problem=${action.problem} isBusy=${action.isBusy} isCommitted=${action.isBusy}
    cancel=${t("admin.cancel")} action=${t("admin.renew")} onAction=${action.run} onClose=${onClose}>
    <p class="dialog-named"><bdi>${printable(person.name)}</bdi></p><p>${t("admin.renew.text")}</p><//>`;
}

/** @param {{ person: User, me: Me, onRemoved: (person: User) => void, onClose: () => void }} props */
function RemoveDialog({ person, me, onRemoved, onClose }) {
  const action = useAction(async () => {
    await del(userPath("", person)).catch((thrown) => { if (asApiError(thrown).status !== 404) throw thrown; });
    onRemoved(person);
  });
  return html`<${ConfirmDialog} title=${t("admin.remove.ask")} problem=${action.problem} isDanger isBusy=${action.isBusy} isCommitted=${action.isBusy}
    cancel=${t("admin.cancel")} action=${t("admin.remove")} onAction=${action.run} onClose=${onClose}>
    <p class="dialog-named"><bdi>${printable(person.name)}</bdi></p><p>${t("admin.remove.text")}</p>
    ${person.name === me.user && html`<p><strong>${t("admin.remove.self")}</strong></p>`}<//>`;
}
