// Re-exports Preact, its hooks and `html` (JSX without a build step), so that views import from one place.
import { h } from "../vendor/preact/preact.js";
import htm from "../vendor/htm/htm.js";

export { render } from "../vendor/preact/preact.js";
export {
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useReducer, useId, useErrorBoundary,
} from "../vendor/preact/hooks.js";
export const html = htm.bind(h);
