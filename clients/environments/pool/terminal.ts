import { z } from 'zod';
import { unlessAborted } from '../../../shared/lang/async.ts';
import { shortHash } from '../../../shared/lang/short-hash.ts';
import type { FunctionTool } from '../environment.ts';
import { clip } from './clip.ts';
import { type PoolKind, shared } from './kind.ts';
import { Scored, TerminalReset, ToolExecuted } from './wire.ts';

const Task = z.looseObject({
  task_name: z.string().min(1),
  task_path: z.string().min(1),
  instruction: z.string().min(1),
});
type Task = z.output<typeof Task>;

/** A line of OpenClaw-RL's converted tasks, or its `task` alone. */
const Line = z.union([z.looseObject({ task: Task }).transform(({ task }) => task), Task]);

/** s that the server may take for each part */
const TASK_TIMEOUTS = { ensure_image: 300, reset_session: 300, close_session: 60, eval: 600 };
/** ms: the same, and a minute for the way */
const RESET_LIMIT = 720_000;
const EVALUATE_LIMIT = 660_000;
/** ms: the router asks one worker after the other */
const ALLOCATE_LIMIT = 60_000;

/** The server's prefix for a failure of the tool, which is an observation for the policy. */
const toolError = '[TOOL_ERROR]';

/** Containers with a terminal, from terminal-rl's `pool_server` or `router_server`. */
export const terminalPool: PoolKind<Task> = {
  read: (line) => {
    const row = Line.parse(line);
    return { name: row.task_name, row };
  },
  closeLimitMs: 30_000,
  open: async (pool, task, { id, signal, actLimitMs }) => {
    const taskKey = `${task.task_name}:${task.task_path}`;
    const lease = await pool.allocate(
      { task_key: taskKey, request_id: `${taskKey}:${id}` },
      { isIdempotent: true, limitMs: ALLOCATE_LIMIT, signal },
    );
    try {
      const run = { uid: shortHash(id), group_index: 0, sample_index: 0 };
      const { user_msg: message, tool_schemas: tools } = await lease.ask(
        '/reset',
        { task_meta: task, run_ctx: run, task_timeouts: TASK_TIMEOUTS },
        TerminalReset,
        { phase: 'opening', limitMs: RESET_LIMIT, signal },
      );
      const evaluate = shared(() =>
        lease.ask('/evaluate', {}, Scored, { phase: 'evaluating', limitMs: EVALUATE_LIMIT }),
      );
      return {
        messages: [{ role: 'user', content: message }],
        tools: tools.map(toolOf),
        takesText: false,
        act: async ({ name, arguments: given }, actSignal) => {
          const { observation } = await lease.ask(
            '/exec_tool',
            { tool_call: { name, arguments: given } },
            ToolExecuted,
            { phase: 'acting', limitMs: actLimitMs, signal: actSignal },
          );
          return {
            content: clip(observation),
            isError: observation.startsWith(toolError),
            isDone: false,
          };
        },
        evaluateLimitMs: EVALUATE_LIMIT,
        evaluate: async (evaluateSignal) => {
          const { score, details } = await unlessAborted(evaluate(), evaluateSignal);
          return { reward: score, detail: details === undefined ? {} : { details } };
        },
        close: lease.close,
      };
    } catch (error) {
      await lease.close();
      throw error;
    }
  },
};

function toolOf({
  function: { name, description, parameters },
}: z.output<typeof TerminalReset>['tool_schemas'][number]): FunctionTool {
  return {
    type: 'function',
    function: {
      name,
      ...(description ? { description } : {}),
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  };
}
