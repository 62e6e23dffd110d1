import { z } from 'zod';

// The messages of OpenEnv's WebSocket `/ws` and its Task API, as openenv 0.10 sends them.

const ObservationMessage = z.looseObject({
  type: z.literal('observation'),
  data: z.looseObject({
    observation: z.record(z.string(), z.unknown()),
    reward: z.union([z.number(), z.boolean()]).nullish(),
    done: z.boolean().nullish(),
  }),
});

const ErrorMessage = z.looseObject({
  type: z.literal('error'),
  data: z.looseObject({ message: z.string(), code: z.string() }),
});

/** A reply to `reset` or `step`. */
export const Reply = z.union([ObservationMessage, ErrorMessage]);
export type Reply = z.output<typeof Reply>;

/** A tool as `list_tools` shows it. */
const Tool = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()).nullish(),
});
export const Tools = z.looseObject({ tools: z.array(Tool) });
export type ListedTool = z.output<typeof Tool>;

/** `observation` after `call_tool`. */
export const ToolObservation = z.looseObject({
  result: z.unknown(),
  error: z.looseObject({ error_type: z.string().nullish(), message: z.string() }).nullish(),
});

/** A result of MCP's `tools/call`. */
export const McpResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  is_error: z.boolean().nullish(),
});

const ObjectSchema = z.looseObject({
  title: z.string().optional(),
  properties: z.record(z.string(), z.looseObject({ type: z.string().optional() })).default({}),
  required: z.array(z.string()).default([]),
});
export type ObjectSchema = z.output<typeof ObjectSchema>;

/** The answer of GET /schema. */
export const Schemas = z.looseObject({ action: ObjectSchema });

/** Answers of the Task API. */
export const EnvironmentNames = z.array(z.string());
export const TaskCount = z.looseObject({ num_tasks: z.int() });
