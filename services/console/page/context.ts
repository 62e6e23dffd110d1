import type { TemplateResult } from 'lit-html';
import type { Change, Overview } from '../api/shapes.ts';
import type { Failure } from './client.ts';

export type Question = {
  readonly title: string;
  readonly text: string;
  readonly yes: string;
  readonly run: () => Promise<string>;
};

/** What a page may use of the shell around it. */
export type Context = {
  readonly overview: () => Overview | undefined;
  /** the adapter that the pages are about */
  readonly adapter: () => string;
  /** Draws again soon. */
  readonly draw: () => void;
  /** Says something to everybody, screen readers too. */
  readonly say: (text: string) => void;
  readonly fail: (failure: unknown) => void;
  /** Asks before it does something; says the outcome. */
  readonly ask: (question: Question) => void;
};

export type Page = {
  readonly title: string;
  /** Called when the page is opened and when its part of the address or the adapter changes. */
  readonly open: (rest: readonly string[], query: URLSearchParams) => void;
  /** Called when the log has grown. */
  readonly changed: (change: Change) => void;
  readonly view: () => TemplateResult;
};

/** Turns that one message of the console names; it leaves out the others. */
const NAMED = 50;

/** Whether a turn may have changed. */
export const mayConcern = ({ changed: { turns } }: Change, id: string): boolean =>
  turns.includes(id) || turns.length >= NAMED;

export type Loaded<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'loaded'; readonly value: Value };
