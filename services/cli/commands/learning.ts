import { withLog } from '../../../clients/with-log.ts';
import { learningFact, trainNowFact } from '../../../shared/lineage/operator-facts.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { adaptersToChange } from '../adapters.ts';
import type { Command } from '../command.ts';
import { readOptions } from '../options.ts';
import { readPolicies } from '../policies.ts';

export const learning: Command = {
  name: 'learning',
  usage: 'pause | resume | now',
  about: 'pause or resume the forming of batches, or train with what there is',
  details: [
    ['pause', 'form no more batches; an open batch is still trained'],
    ['resume', 'form batches again'],
    ['now', 'form the next batch from the samples there are, at least one'],
    ['--adapters A,B', 'only these adapters; default: all'],
    ['--reason TEXT', 'recorded in the event'],
  ],
  run: async ([action = '', ...rest]) => {
    if (!Object.hasOwn(actions, action)) throw new UsageError('give an action: pause, resume or now');
    const { values, settings } = readOptions(rest, { reason: { type: 'string' } });
    return withLog(settings, async (log) => {
      const adapters = await adaptersToChange(log, settings);
      for (const adapter of adapters) {
        const outcome = await actions[action]!(log, { adapter, reason: values.reason, settings });
        console.log(adapters.length === 1 ? outcome : `${adapter}: ${outcome}`);
      }
      return 0;
    });
  },
};

const SOURCE = 'clawloop/cli';
type OnAdapter = {
  readonly adapter: string;
  readonly reason: string | undefined;
  readonly settings: { readonly dataFolder: string };
};
/** Resolves to a report of what it did. */
type Action = (log: EventLog, on: OnAdapter) => Promise<string>;

const actions: Readonly<Record<string, Action>> = {
  pause: async (log, on) => {
    await log.append([learningFact('pause', on, SOURCE)]);
    return 'learning is paused: chats are still answered and judged, and an open batch is still trained';
  },
  resume: async (log, on) => {
    await log.append([learningFact('resume', on, SOURCE)]);
    return 'learning is resumed';
  },
  now: async (log, { adapter, settings }) => {
    const known = (await readPolicies(log, settings)).get(adapter);
    const after = known?.view.head().n ?? 0;
    const paused = known?.isPaused() ?? false;
    await log.append([trainNowFact(adapter, after, SOURCE)]);
    const when = paused ? 'after `clawloop learning resume`' : 'at once';
    return `batch ${after + 1} is formed ${when}, from the samples that wait, or from the first one that arrives`;
  },
};
