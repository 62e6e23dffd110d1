import { CLAW_NANO } from '../../shared/policy/model-folder.ts';

/** What a person should start, who wants more than to try the loop. */
export const REAL_WORK =
  'For real work: --model Qwen/Qwen3-1.7B or larger, or vLLM or SGLang (docs/upstream.md)';

/** What to say of the model at the first start; undefined: nothing. */
export const demoNote = (model: string, engine: 'local' | 'upstream'): string | undefined =>
  model === CLAW_NANO && engine === 'local'
    ? `${model} is a demo, to try the loop with. ${REAL_WORK}`
    : undefined;
