import { z } from 'zod';
import { parseJson } from '../../../shared/lang/json.ts';

const StepProgress = z.object({
  batch: z.string(),
  phase: z.string(),
  samples: z.int(),
  of: z.int(),
  secondsLeft: z.number(),
});
export type StepProgress = z.output<typeof StepProgress>;

/** Progress of the running step, if the trainer's log line reports it. */
export function stepProgressOf(line: string): StepProgress | undefined {
  if (!line.startsWith('{') || !line.includes('"msg":"step"')) return undefined;
  return StepProgress.safeParse(parseJson(line)).data;
}
