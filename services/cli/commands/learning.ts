import { randomUUID } from 'node:crypto';
import { BatchRequested } from '../../../shared/events/batch-requested.ts';
import { LearningPaused } from '../../../shared/events/learning-paused.ts';
import { LearningResumed } from '../../../shared/events/learning-resumed.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { utcNow } from '../../../shared/service/clock.ts';
import { adaptersToChange } from '../adapters.ts';
import { type Command, UsageError } from '../command.ts';
import { readOptions } from '../options.ts';
import { readTopic } from '../read-topic.ts';
import { withLog } from '../with-log.ts';

export const learning: Command = {
  name: 'learning',
  usage: 'pause | resume | now',
  about: 'stop and start the forming of batches, or train what there is',
  details: [
    ['pause', 'no batch is formed any more; an open one is still trained'],
    ['resume', 'batches are formed again'],
    ['now', 'the next batch takes what there is, from one sample on'],
    ['--adapters A,B', 'of these alone; else of all'],
    ['--reason TEXT', 'stands in the fact'],
  ],
  run: async ([action = '', ...rest]) => {
    if (!Object.hasOwn(acts, action)) throw new UsageError('learning what? one of: pause, resume, now');
    const { values, settings } = readOptions(rest, { reason: { type: 'string' } });
    const origin = () => ({ id: randomUUID(), source: 'clawloop/cli', time: utcNow() });
    const reason = values.reason === undefined ? {} : { reason: values.reason };
    return withLog(settings, async (log) => {
      const adapters = await adaptersToChange(log, settings);
      for (const adapter of adapters) {
        const said = await acts[action]!(log, adapter, origin(), reason);
        console.log(adapters.length === 1 ? said : `${adapter}: ${said}`);
      }
      return 0;
    });
  },
};

type Origin = { readonly id: string; readonly source: string; readonly time: string };
type Reason = { readonly reason?: string };
/** Says what it did. */
type Act = (log: EventLog, adapter: string, origin: Origin, reason: Reason) => Promise<string>;

const acts: Readonly<Record<string, Act>> = {
  pause: async (log, adapter, origin, reason) => {
    await log.append([LearningPaused.create({ ...origin, data: { adapter, ...reason } })]);
    return 'learning is paused: chats go on and are judged; an open batch is still trained';
  },
  resume: async (log, adapter, origin, reason) => {
    await log.append([LearningResumed.create({ ...origin, data: { adapter, ...reason } })]);
    return 'learning goes on';
  },
  now: async (log, adapter, origin) => {
    let after = 0;
    let paused = false;
    await readTopic(log, 'training', ({ event }) => {
      if (event.subject !== adapter) return;
      if (event.type === 'batch.submitted') after = Math.max(after, event.data.n);
      if (event.type === 'learning.paused') paused = true;
      if (event.type === 'learning.resumed') paused = false;
    });
    await log.append([BatchRequested.create({ ...origin, data: { adapter, after, reason: 'operator' } })]);
    const once = paused ? ', once learning is resumed' : '';
    return `the next batch, ${after + 1}, takes what there is, from one sample on${once}`;
  },
};
