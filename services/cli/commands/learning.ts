import { randomUUID } from 'node:crypto';
import { BatchRequested } from '../../../shared/events/batch-requested.ts';
import { LearningPaused } from '../../../shared/events/learning-paused.ts';
import { LearningResumed } from '../../../shared/events/learning-resumed.ts';
import { utcNow } from '../../../shared/service/clock.ts';
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
    ['--reason TEXT', 'stands in the fact'],
  ],
  run: async ([action = '', ...rest]) => {
    if (!['pause', 'resume', 'now'].includes(action))
      throw new UsageError('learning what? one of: pause, resume, now');
    const { values, settings } = readOptions(rest, { reason: { type: 'string' } });
    const { adapter } = settings;
    const origin = { id: randomUUID(), source: 'clawloop/cli', time: utcNow() };
    const reason = values.reason === undefined ? {} : { reason: values.reason };
    return withLog(settings, async (log) => {
      if (action === 'pause') {
        await log.append([LearningPaused.create({ ...origin, data: { adapter, ...reason } })]);
        console.log('learning is paused: chats go on and are judged; an open batch is still trained');
      } else if (action === 'resume') {
        await log.append([LearningResumed.create({ ...origin, data: { adapter, ...reason } })]);
        console.log('learning goes on');
      } else {
        let after = 0;
        let paused = false;
        await readTopic(log, 'training', ({ event }) => {
          if (event.subject !== adapter) return;
          if (event.type === 'batch.submitted') after = Math.max(after, event.data.n);
          if (event.type === 'learning.paused') paused = true;
          if (event.type === 'learning.resumed') paused = false;
        });
        await log.append([
          BatchRequested.create({ ...origin, data: { adapter, after, reason: 'operator' } }),
        ]);
        const once = paused ? ', once learning is resumed' : '';
        console.log(`the next batch, ${after + 1}, takes what there is, from one sample on${once}`);
      }
      return 0;
    });
  },
};
