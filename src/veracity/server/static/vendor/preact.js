// The one door through which the page takes its view library: Preact, its hooks, and `html`, which is JSX without a build.
import { h } from "./preact/preact.js";
import htm from "./htm/htm.js";

export { h, render, Fragment, createContext, createRef, createPortal, Component } from "./preact/preact.js";
export {
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useReducer, useId, useErrorBoundary,
} from "./preact/hooks.js";
export const html = htm.bind(h);
