import { z } from 'zod';

// The JSON of OpenClaw-RL's pool servers: every call is a POST, and every answer has `ok`.

/** A refusal, with an HTTP status of 400 or more, or with `ok: false`. */
export const Refusal = z.looseObject({
  ok: z.boolean().optional(),
  error: z.string().optional(),
  code: z.string().optional(),
});

export const Allocated = z.looseObject({ lease_id: z.string().min(1) });

const FunctionTool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});

export const TerminalReset = z.looseObject({
  user_msg: z.string(),
  tool_schemas: z.array(FunctionTool).min(1),
});
export const ToolExecuted = z.looseObject({ observation: z.string() });

/** `score` of a terminal or GUI pool. A number beyond 0 to 1 is no score of theirs. */
export const Scored = z.looseObject({ score: z.number().min(0).max(1) });

export const Executed = z.looseObject({ returncode: z.int(), output: z.string() });

/** `error` is what git wrote, if `returncode` is not 0 */
export const Diffed = z.looseObject({
  patch: z.string(),
  returncode: z.int().optional(),
  error: z.string().nullish(),
});

/** With an `error`, nothing was evaluated, although `resolved` is false. */
export const Resolved = z.looseObject({
  resolved: z.boolean(),
  returncode: z.int().optional(),
  output: z.string().optional(),
  error: z.string().nullish(),
});

/** OSWorld's observation without its picture. */
const DesktopObservation = z.looseObject({ accessibility_tree: z.string().nullish() });

export const DesktopReset = z.looseObject({ observation: DesktopObservation });
export const DesktopStep = z.looseObject({ observation: DesktopObservation, done: z.boolean().optional() });
