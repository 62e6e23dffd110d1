import type { ModelConfig } from '../../shared/policy/model/model-config.ts';

/** One measured case; its step is one training step, one token of every sequence, or one prompt. */
export type PolicyCase =
  | {
      readonly kind: 'train';
      readonly trains: 'lora' | 'full';
      readonly batch: number;
      readonly positions: number;
    }
  | { readonly kind: 'decode'; readonly sequences: number; readonly context: number }
  | { readonly kind: 'prefill'; readonly tokens: number };

/** An order for a measuring process, one JSON object per line; the first one also determines the setup. */
export type Ask = {
  /** A Hugging Face folder, which our process loads. */
  readonly folder: string;
  /** The same model's sizes, from which the peer builds it. */
  readonly model: ModelConfig;
  readonly case: PolicyCase;
  readonly steps: number;
};

/** For each step the elapsed time and the processor time of all threads, ms; and the peak memory of the process. */
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
