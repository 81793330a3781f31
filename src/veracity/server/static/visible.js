// Text from documents and models as a person may be shown it, and places in it counted as the server counts them.
// Knows nothing about Markdown.

// Controls, format characters (direction overrides, zero-width ones, tags), private use, halves of characters, and
// letters that are blank: nobody sees them, so a mark takes their place. Line breaks, tabs and soft hyphens stay.
const UNSEEN = /(?![\n\r\t\u00ad\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u115f\u1160\u3164\uffa0\u034f]/gu;
const JOINER = /(?<!\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d|\u200d(?!\p{Extended_Pictographic})/gu;
// One variation selector belongs to a character; a row of them hides a message.
const SELECTORS = /([\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;
// Accents piled up paint over what stands above and below.
const PILED = /(\p{Mn}{4})\p{Mn}+/gu;
const SUSPECT = /[^\n\r\t\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]/u;

export function visible(text) {
  if (!SUSPECT.test(text)) return text;
  return text
    .replace(SELECTORS, "$1\ufffd")
    .replace(PILED, "$1\ufffd")
    .replace(UNSEEN, "\ufffd")
    .replace(JOINER, "\ufffd");
}

// The server counts characters (code points), JavaScript counts UTF-16 units: an emoji is one there and two here.
export function unitsAt(text, characters) {
  let at = 0;
  for (let left = characters; left > 0 && at < text.length; left -= 1) {
    at += text.codePointAt(at) > 0xffff ? 2 : 1;
  }
  return at;
}

export function charactersIn(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
