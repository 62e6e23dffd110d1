import type { ModelConfig } from '../../shared/policy/model/model-config.ts';

/**
 * One thing that is measured; a step of it is one training step, one token of every sequence, or one
 * prompt.
 */
export type PolicyCase =
  | {
      readonly kind: 'train';
      readonly trains: 'lora' | 'full';
      readonly batch: number;
      readonly positions: number;
    }
  | { readonly kind: 'decode'; readonly sequences: number; readonly context: number }
  | { readonly kind: 'prefill'; readonly tokens: number };

/** What a measuring process is told, one JSON object per line; the first one also says what to set up. */
export type Ask = {
  /** A Hugging Face folder: what ours loads. */
  readonly folder: string;
  /** The same model's sizes: what the peer builds. */
  readonly model: ModelConfig;
  readonly case: PolicyCase;
  readonly steps: number;
};

/** Of each step: time on the clock and of all threads together, ms; and the process's largest memory. */
export type Times = {
  readonly milliseconds: readonly number[];
  readonly processor: readonly number[];
  readonly peakBytes: number;
};

export function tokensPerStep(measured: PolicyCase): number {
  if (measured.kind === 'train') return measured.batch * measured.positions;
  return measured.kind === 'decode' ? measured.sequences : measured.tokens;
}

export function nameOf(measured: PolicyCase): string {
  if (measured.kind === 'train')
    return `${measured.trains} training step, ${measured.batch} x ${measured.positions}`;
  if (measured.kind === 'decode') return `decode, ${measured.sequences} at a time, after ${measured.context}`;
  return `prompt of ${measured.tokens}`;
}
