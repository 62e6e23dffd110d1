import { z } from 'zod';

const StepProgress = z.object({
  batch: z.string(),
  phase: z.string(),
  samples: z.int(),
  of: z.int(),
  secondsLeft: z.number(),
});
export type StepProgress = z.output<typeof StepProgress>;

/** What the trainer's line says of its running step; undefined: it speaks of something else. */
export function stepProgressOf(line: string): StepProgress | undefined {
  if (!line.startsWith('{') || !line.includes('"msg":"step"')) return undefined;
  try {
    return StepProgress.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
