// Types for preact.js: the vendored modules are minified, so the types come from the npm package of the same version.
import type { ComponentChildren } from "preact";

export type { ComponentChildren } from "preact";
export { render } from "preact";
export {
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useReducer, useId, useErrorBoundary,
} from "preact/hooks";
export function html(strings: TemplateStringsArray, ...values: unknown[]): ComponentChildren;
