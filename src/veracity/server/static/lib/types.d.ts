// Types that the modules of the page share. Data of the API is in api-types.d.ts, which is generated.
import type { Answer, Approval, Citation, Evidence, Feedback, Receipt, RunEvent, Step } from "./api-types.d.ts";
import type { ApiError } from "./http.js";

export type * from "./api-types.d.ts";

declare global {
  interface Window {
    /** Set by boot.js. */
    boot: {
      language: string;
      strings: Promise<Record<string, string>>;
      loadStrings(language: string): Promise<Record<string, string>>;
      showTheme(theme: string): void;
    };
  }
}

export interface Route {
  view: string;
  id: string;
  /** The experiment to compare with. */
  other: string;
  path: string;
}

export type StreamState = "open" | "reconnecting" | "closed";

export interface ServerEvent {
  id: string;
  kind: string;
  data: any;
}

/** What the feed reports, by kind. "state" is about the connection itself. */
export interface FeedEvents {
  hello: { pending: number };
  approval: { approval_id: string; run_id: string; state: Approval["state"]; by?: string; changed?: "state" | "assignee" };
  documents: unknown;
  examples: unknown;
  /** A run of this page ended, or a conversation was deleted. */
  conversations: unknown;
  state: StreamState;
}

/** Events of a run's stream. */
export type RunMessage = { id?: string; run_id?: string } & (
  | { kind: "accepted" }
  | { kind: "queued"; ahead: number }
  | ({ kind: "started" } & Pick<RunEvent, "name">)
  | ({ kind: "draft" } & Pick<RunEvent, "text" | "begins">)
  | { kind: "finished"; step: Step }
  | { kind: "answer"; answer: Answer }
  | { kind: "failed"; problem: string }
);

export interface StreamHandlers {
  onEvent(event: RunMessage): void;
  onState?(state: StreamState): void;
  onError?(error: ApiError): void;
}

/** Changes of a run's state in the page: events of its stream, and what the page itself finds out. */
export type RunChange =
  | RunMessage
  | { kind: "refused"; error: ApiError; id?: undefined; run_id?: undefined }
  | { kind: "connection"; state: StreamState; id?: undefined; run_id?: undefined }
  | { kind: "receipt"; receipt: Receipt; id?: undefined; run_id?: undefined };

export interface ActiveStep {
  name: string;
  since: number;
}

/**
 * A run as the page shows it. Phases: "loading" (an earlier run), "asking" (no event yet), "queued", "running", "done"
 * (answered or awaiting approval), "failed" (ended without an answer), "refused" (no run, or not visible to this user),
 * "unread" (the run exists, but could not be loaded).
 */
export interface Run {
  question: string;
  runId: string;
  phase: "loading" | "asking" | "queued" | "running" | "done" | "failed" | "refused" | "unread";
  ahead: number;
  steps: Step[];
  active: ActiveStep[];
  draft: string;
  /** The draft is the previous one, and the next has no text yet. */
  isOutdated: boolean;
  answer: Answer | null;
  problem: string;
  error: ApiError | null;
  lastEventId: string;
  connection: StreamState;
  feedback: Feedback[];
  user: string;
  conversation: string;
  /** Paths and patterns that limited the documents. */
  only: string[];
  started: string | null;
}

/** A run that is being followed; `reload` reads its receipt again. */
export type FollowedRun = Run & { reload?(): void };

export type OnCite = (citation: Citation, answer: Answer) => void;

/** A citation that is open in the source panel, with the answer it belongs to. */
export interface OpenCitation {
  citation: Citation;
  answer: Answer;
}

/** A range of characters (code points), from start to end. */
export type Range = [start: number, end: number];

/** A part of a document around a quote. */
export interface Excerpt {
  phase: "loading" | "document" | "passage";
  id?: string;
  text: string;
  start: number;
  end: number;
  characters: number;
  page_starts?: number[];
  markdown?: boolean;
  format?: string;
  has_original?: boolean;
  quote: Range | null;
  passage: Range | null;
  /** Why only the passage is shown: "web", "history", "changed", "forgotten" or "". */
  reason?: string;
  problem?: string;
  isBusy?: boolean;
}

/** A numbered entry of an answer's source list. */
export interface SourceEntry {
  number: number;
  evidence: Evidence;
  isCited: boolean;
  /** What the answer quotes from it. */
  quotes: string[];
  citation: Citation;
}

/** A marked part of a Markdown text, in UTF-16 units. */
export interface Mark {
  start: number;
  end: number;
  className: string;
  tag?: "mark";
  title?: string;
  /** For screen readers, before the text. */
  label?: string;
}
