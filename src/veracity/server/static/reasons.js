// What the server says of what went wrong, in the language of the page as far as there are words for it: it speaks English.
// What is left of its own words tells those who mend it more.
import { language, t } from "./i18n.js";

const SAID = [
  [/^Stopped by (?<name>.+)\.$/su, "stopped"],
  [/^it is empty$/u, "empty"],
  [/^it holds no text\b(?: \((?<detail>.+)\))?$/su, "noText"],
  [/^its format is not supported \((?<detail>.+)\)$/su, "format"],
  [/^it is not text\b/u, "binary"],
  [/^it is encrypted\b/u, "encrypted"],
  [/^it is (?:damaged: (?<detail>.+)|a damaged archive)$/su, "damaged"],
  [/^it unpacks to more than\b/u, "unpacked"],
];

export function inOwnWords(said) {
  if (language() === "en") return said;
  for (const [pattern, name] of SAID) {
    const found = pattern.exec(said);
    if (!found) continue;
    const { name: who = "", detail = "" } = found.groups || {};
    const told = t(`shell.reason.${name}`, { name: who });
    return detail ? t("shell.reason.more", { told, detail }) : told;
  }
  return said;
}
