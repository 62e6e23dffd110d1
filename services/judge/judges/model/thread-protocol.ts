import type { BackendChoice } from '../../../../shared/policy/backend.ts';
import type { JudgeMessage } from '../openai/prompt.ts';

/** What the thread of the judge model starts with. */
export type ModelSetup = {
  readonly folder: string;
  readonly backend: BackendChoice;
  readonly temperature: number;
  /** tokens per answer at most */
  readonly maxTokens: number;
};

export type Said = {
  readonly text: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
};

export type ToThread =
  | {
      readonly kind: 'ask';
      readonly id: number;
      readonly messages: readonly JudgeMessage[];
      readonly seed: number;
    }
  | { readonly kind: 'drop'; readonly id: number };

export type FromThread =
  | { readonly kind: 'ready'; readonly report: string }
  | { readonly kind: 'said'; readonly id: number; readonly said: Said }
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string };
