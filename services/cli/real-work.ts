import { isShipped } from '../../shared/policy/model/model-folder.ts';

/** Advice for users who want more than a demo. */
export const REAL_WORK =
  'For real work: --model Qwen/Qwen3-1.7B or larger, or vLLM or SGLang (docs/operate/upstream.md)';

/** Note about the model at the first start, if any. */
export const demoNote = (model: string, engine: 'local' | 'upstream'): string | undefined =>
  isShipped(model) && engine === 'local'
    ? `${model} is a demo model for trying out the loop. ${REAL_WORK}`
    : undefined;
