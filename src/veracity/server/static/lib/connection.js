// Whether the server can be reached, as the event streams of the page find out.
import { useEffect, useState } from "./preact.js";

const UNREACHABLE = new Set([0, 502, 503, 504]); // no response, or a proxy's
/** @type {Set<(isLost: boolean) => void>} */
const listeners = new Set();
let isLost = false;

/** Reports the status of a stream's request; 0 if there was no response. @param {number} status */
export function reportStatus(status) {
  const next = UNREACHABLE.has(status);
  if (next === isLost) return;
  isLost = next;
  listeners.forEach((listener) => listener(next));
}

/** Calls the handler when the connection is lost, and when it is back. @param {(isLost: boolean) => void} handler */
export function onConnection(handler) {
  listeners.add(handler);
  return () => { listeners.delete(handler); };
}

export function useConnectionLost() {
  const [value, setValue] = useState(isLost);
  useEffect(() => onConnection(setValue), []);
  return value;
}
