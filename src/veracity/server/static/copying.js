// A button that copies a text: `<${Copy} words=${…} text=${() => …} />`. Knows nothing about what the text is.
import { html, useState } from "./vendor/preact.js";
import { t } from "./i18n.js";

export function Copy({ words, text }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    setSaid((await copied(text())) ? "shell.copied" : "shell.notCopied");
    setTimeout(() => setSaid(""), 2500);
  };
  return html`<button type="button" class="quiet small" onClick=${copy}>${words}</button>
    <span class="small muted" role="status">${said ? t(said) : ""}</span>`;
}

// The clipboard is there on secure addresses only; a team's server may be reached over plain HTTP.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const before = document.activeElement;
    const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
    area.className = "visually-hidden";
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    return isDone;
  }
}
