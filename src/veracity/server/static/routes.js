// Where the page is: the part of the address after "#". Knows nothing about what is shown there.

const VIEWS = { "": "ask", c: "ask", inbox: "inbox", conversations: "conversations", documents: "documents", evaluator: "evaluator", runs: "run" };
const NAMED = new Set(["c", "runs"]); // these lead nowhere without a name
const NAMEABLE = new Set(["c", "runs", "inbox"]);

// -> {view, id, path}; the view is "notFound" for an address that leads nowhere.
export function readRoute(hash = location.hash) {
  const path = hash.replace(/^#/, "") || "/";
  const [first = "", name = "", ...more] = path.replace(/^\//, "").split("/");
  const lost = { view: "notFound", id: "", path };
  if (!Object.hasOwn(VIEWS, first) || more.length || (NAMED.has(first) && !name) || (name && !NAMEABLE.has(first))) return lost;
  try {
    return { view: VIEWS[first], id: decodeURIComponent(name), path };
  } catch {
    return lost;
  }
}

export function go(path) {
  location.hash = `#${path}`;
}

// Changes the address without a new entry in the history, as when a question becomes a conversation.
export function goQuietly(path) {
  history.replaceState(null, "", `#${path}`);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

// The token of a start-up address (#token=…). It is taken out of the address at once, so that it is in no history.
export function takeToken() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (!found) return "";
  goQuietly("/");
  try { return decodeURIComponent(found[1]); } catch { return found[1]; }
}
