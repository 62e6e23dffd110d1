import type { FastifyInstance } from 'fastify';
import { topics } from '../../../shared/events/define-event.ts';
import { sum } from '../../../shared/lang/numbers.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import { ConsoleError } from '../errors.ts';
import { askServices, diskUse, lagOfFolds } from '../look-around.ts';
import type { ConsoleDeps } from './console-deps.ts';
import type { Flow } from './shapes.ts';

/** LETTERS per answer */
const LETTERS = 50;

/** Topics, folds, services, disk and audit: looked at when a page asks, at most once per second. */
export function registerFlow(server: FastifyInstance, deps: ConsoleDeps): void {
  const { config, data, log, model, audits } = deps;
  const look = async (): Promise<Omit<Flow, 'letters' | 'audit' | 'queue'>> => {
    const [services, folds, disk, ends] = await Promise.all([
      askServices(config),
      lagOfFolds(log),
      diskUse(data, model.firstTime()),
      Promise.all(topics.map((topic) => log.ends(topic))),
    ]);
    const counted = topics.map((topic, index) => ({ topic, records: sum(ends[index]!), ends: ends[index]! }));
    return { topics: counted, folds, services, disk };
  };
  let [looked, at]: [ReturnType<typeof look> | undefined, number] = [undefined, 0];

  server.get('/api/flow', async (): Promise<Flow> => {
    if (looked === undefined || performance.now() - at > 1_000) [looked, at] = [look(), performance.now()];
    const seen = await looked.catch((error: unknown) => {
      looked = undefined;
      if (isLogError(error, 'LogUnavailable')) throw ConsoleError.LOG_UNREADABLE({ retryAfterSeconds: 5 });
      throw error;
    });
    const { count, latest } = model.letters();
    return {
      ...seen,
      letters: { count, latest: latest.slice(0, LETTERS) },
      audit: audits.last() ?? null,
      queue: config.queue,
    };
  });

  server.post('/api/audit', async (_request, reply) => reply.code(202).send(audits.start()));
}
