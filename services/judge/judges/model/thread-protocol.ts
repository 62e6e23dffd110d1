import type { BackendChoice } from '../../../../shared/policy/executors/backend.ts';
import type { JudgeMessage } from '../openai/prompt.ts';

/** Start parameters of the judge model's thread. */
export type ModelSetup = {
  readonly folder: string;
  readonly backend: BackendChoice;
  readonly temperature: number;
  /** maximum tokens per answer */
  readonly maxTokens: number;
};

export type Said = {
  readonly text: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
};

export type Asked = { readonly messages: readonly JudgeMessage[]; readonly seed: number };

export type ModelCalls = { readonly ask: { readonly ask: Asked; readonly result: Said } };
