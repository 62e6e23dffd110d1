import { z } from 'zod';
import { unlessAborted } from '../../../shared/lang/async.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { clip } from './clip.ts';
import { codeOf, desktopTools } from './desktop-actions.ts';
import { type PoolKind, shared } from './kind.ts';
import { DesktopReset, DesktopStep, Scored } from './wire.ts';

const Task = z.looseObject({
  id: z.string().optional(),
  instruction: z.string().min(1),
  evaluator: z.record(z.string(), z.unknown()),
});
type Task = z.output<typeof Task>;

/** A task of OSWorld, or a line of slime's data with such a task in its metadata. */
const Line = z.union([
  z
    .looseObject({ metadata: z.looseObject({ task_config: Task }) })
    .transform(({ metadata }) => metadata.task_config),
  Task,
]);

/** ms: the pool may have to create a virtual machine, or set one back */
const ALLOCATE_LIMIT = 600_000;
const RESET_LIMIT = 600_000;
const EVALUATE_LIMIT = 600_000;
const CLOSE_LIMIT = 300_000;
/** s that the desktop gets before it is observed */
const SETTLE_S = 0.5;
/** characters of an accessibility tree */
const TREE_LIMIT = 50_000;

/** Desktops, from gui-rl's `env_pool_server`. They are shown as text. */
export const guiPool: PoolKind<Task> = {
  read: (line) => {
    const row = Line.parse(line);
    return { name: row.id ?? row.instruction.slice(0, 40), row };
  },
  closeLimitMs: CLOSE_LIMIT,
  open: async (pool, task, { id, signal, actLimitMs }) => {
    const lease = await pool.allocate(
      { episode_id: id },
      { isIdempotent: false, limitMs: ALLOCATE_LIMIT, signal },
    );
    try {
      const { observation: first } = await lease.ask('/reset', { task_config: task }, DesktopReset, {
        phase: 'opening',
        limitMs: RESET_LIMIT,
        signal,
      });
      if (!first.accessibility_tree)
        throw new UsageError(
          'the server shows screenshots only; ClawLoop serves no vision model yet. Start the pool server with --observation-type a11y_tree',
        );
      const evaluate = shared(() =>
        lease.ask('/evaluate', {}, Scored, { phase: 'evaluating', limitMs: EVALUATE_LIMIT }),
      );
      return {
        messages: [{ role: 'user', content: `${task.instruction}\n\n${sceneOf(first)}` }],
        tools: desktopTools,
        takesText: false,
        act: async ({ name, arguments: given }, actSignal) => {
          const read = codeOf(name, given);
          if ('refusal' in read) return { content: read.refusal, isError: true, isDone: false };
          const { observation, done = false } = await lease.ask(
            '/step',
            { action: read.code, sleep_after_execution: SETTLE_S },
            DesktopStep,
            { phase: 'acting', limitMs: actLimitMs, signal: actSignal },
          );
          return { content: sceneOf(observation), isError: false, isDone: done };
        },
        evaluateLimitMs: EVALUATE_LIMIT,
        evaluate: async (evaluateSignal) => {
          const { score } = await unlessAborted(evaluate(), evaluateSignal);
          return { reward: score, detail: {} };
        },
        close: lease.close,
      };
    } catch (error) {
      await lease.close();
      throw error;
    }
  },
};

const sceneOf = ({ accessibility_tree: tree }: z.output<typeof DesktopReset>['observation']): string =>
  tree ? clip(tree, TREE_LIMIT) : 'The desktop shows no accessibility tree now.';
