// Line icons for a 20 × 20 grid. They accompany text, so they are hidden from screen readers.
import { html } from "./preact.js";

export const LOGO = new URL("../icon.svg", import.meta.url).href;

/** @type {Record<string, string>} */
const PATHS = {
  ask: "M3 5.5A2.5 2.5 0 0 1 5.5 3h9A2.5 2.5 0 0 1 17 5.5v6a2.5 2.5 0 0 1-2.5 2.5H9l-4 3.2V14A2.5 2.5 0 0 1 3 11.5z",
  inbox: "M3 11.5 5.3 4.5h9.4L17 11.5v4H3zM3 11.5h4l1 2h4l1-2h4",
  conversations: "M4 5h12M4 10h12M4 15h7",
  documents: "M6 2.5h5.5L15 6v11.5H6zM11.5 2.5V6H15M8.5 10h4M8.5 13h4",
  evaluator: "M3.5 14.5a7 7 0 1 1 13 0M10 12.5l3.2-4.5M8.7 14.5h2.6",
  admin: "M7 3a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM1.5 16.5c.5-3.2 2.6-4.7 5.5-4.7s5 1.5 5.5 4.7M13 3.4a3 3 0 0 1 0 5.2M14.5 12c2.3.4 3.6 1.9 4 4.5",
  send: "M10 16.5v-13M4.5 9 10 3.5 15.5 9",
  stop: "M6 6h8v8H6z",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5 5 15",
  check: "M4 10.5 8 14.5 16 5.5",
  cross: "M5.5 5.5l9 9M14.5 5.5l-9 9",
  warn: "M10 3 2.5 16.5h15zM10 8v4M10 14.2v.3",
  info: "M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zM10 9v5M10 6.2v.3",
  person: "M10 3a3.2 3.2 0 1 1 0 6.4A3.2 3.2 0 0 1 10 3zM3.5 17c.6-3.4 3.2-5 6.5-5s5.9 1.6 6.5 5",
  clock: "M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zM10 6v4.3l2.8 1.7",
  again: "M16 10a6 6 0 1 1-1.8-4.3M16.5 3v3.5H13",
  down: "M5 8l5 5 5-5",
  right: "M8 5l5 5-5 5",
  left: "M12 5l-5 5 5 5",
  sun: "M10 6.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1",
  moon: "M16.5 12A7 7 0 0 1 8 3.5 7 7 0 1 0 16.5 12z",
  screen: "M3 4h14v9.5H3zM7 17h6M10 13.5V17",
  globe: "M10 2.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15zM2.5 10h15M10 2.5c2.2 2.2 3 4.7 3 7.5s-.8 5.3-3 7.5c-2.2-2.2-3-4.7-3-7.5s.8-5.3 3-7.5z",
  search: "M8.8 3.5a5.3 5.3 0 1 1 0 10.6 5.3 5.3 0 0 1 0-10.6zM12.7 12.7 16.5 16.5",
  upload: "M10 13V3.5M6 7l4-3.5L14 7M3.5 13v3.5h13V13",
  trash: "M3.5 5.5h13M8 5.5V3h4v2.5M5.5 5.5l.7 11.5h7.6l.7-11.5M8.5 8.5v5.5M11.5 8.5v5.5",
  edit: "M12.5 4.5l3 3L7.5 15.5l-4 1 1-4z",
  pin: "M7 3h6l-.7 6 2.7 3H5l2.7-3zM10 12v5",
  download: "M10 3.5V13M6 9.5l4 3.5 4-3.5M3.5 13v3.5h13V13",
  receipt: "M5 2.5h10v15l-2.5-1.6-2.5 1.6-2.5-1.6L5 17.5zM8 7h4M8 10.5h4",
  thumbUp: "M6 9v8H3V9zM6 9l3.5-6.5c1.4 0 2.1 1 1.9 2.3L11 8h4.3c1 0 1.8 1 1.5 2l-1.5 5.8c-.2.7-.8 1.2-1.5 1.2H6",
  thumbDown: "M14 11V3h3v8zM14 11l-3.5 6.5c-1.4 0-2.1-1-1.9-2.3L9 12H4.7c-1 0-1.8-1-1.5-2l1.5-5.8C4.9 3.5 5.5 3 6.2 3H14",
  sliders: "M3 6h7M14 6h3M3 14h3M10 14h7M12 4a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM8 12a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
};

/** @param {{ name: string, size?: number }} props */
export function Icon({ name, size = 18 }) {
  return html`<svg width=${size} height=${size} viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6"
    stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false"><path d=${PATHS[name] || ""} /></svg>`;
}
