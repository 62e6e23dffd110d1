import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { JudgeConfig } from '../../shared/config/judge.ts';
import { every } from '../../shared/lang/async.ts';
import type { SubjectView } from '../../shared/log/event-log.ts';
import { registerJobs } from '../../shared/queue/job-routes.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import { refuseForeignHosts, registerHealth } from '../../shared/runtime/health.ts';
import { isLoopback } from '../../shared/runtime/is-loopback.ts';
import { openQueue } from '../../shared/runtime/open-queue.ts';
import { openService } from '../../shared/runtime/open-service.ts';
import { createFoldMetrics, watchFolds } from '../../shared/runtime/watch-folds.ts';
import { openJudge } from './exam/open-judge.ts';
import { judgeFold } from './judge-fold.ts';
import { createJudgeMetrics } from './metrics.ts';
import { createOpenVotes } from './open-votes.ts';
import type { VoteJob } from './owed-votes.ts';
import { withServingKey } from './own-serving.ts';
import { expireVotes } from './sweeper.ts';
import { retriesOf } from './tries.ts';
import { castVote } from './votes.ts';

const GROUP = 'judge';

const service = await openService('judge', JudgeConfig);
const { config, log, logger, place, shutdown } = service;
const judge = openJudge(withServingKey(config), logger, shutdown);
const votes = config.votes ?? judge.defaultVotes;
const hintVotes = judge.hint === undefined ? 0 : (config.hintVotes ?? judge.defaultHintVotes);
const open = createOpenVotes(monotonicNow, config.queue === 'redis');
const queue = await openQueue<VoteJob>(config, 'votes', retriesOf(config, judge), logger);
const metrics = createJudgeMetrics(service.metrics, queue, open);
const deps = {
  log,
  judge,
  open,
  metrics,
  logger,
  deadlineMs: config.voteDeadlineMs,
  stepDeadlineMs: config.stepDeadlineMs,
};

const watch = watchFolds({
  log,
  place,
  logger,
  signal: shutdown,
  folds: [{ group: GROUP, reads: judgeFold.reads }],
  metrics: createFoldMetrics(service.metrics),
});

const enqueueOwed = (views: readonly SubjectView[]) => void queue.add(open.see(views));

const server = fastify({ logger: false });
refuseForeignHosts(server, config.healthHost);
registerHealth(server, () => watch.missing() ?? queue.missing(), service.metrics, { logger });
registerJobs(server, queue, { key: config.boardKey, isPrivate: isLoopback(config.healthHost) });
await queue.mountBoard(server);
await server.listen({ host: config.healthHost, port: config.healthPort });
const { port } = server.server.address() as AddressInfo;
logger.info({ judge: judge.name, votes, hintVotes, port }, 'judging');

const warn = (what: string) => (error: unknown) => logger.warn({ err: error }, `${what}; will retry`);

/** Runs in the background: until it is done, the stand-in judges or votes are retried. */
async function prepareJudge(): Promise<void> {
  try {
    const report = await judge.open?.();
    if (report !== undefined) logger.info({ judge: judge.name, report }, 'judge loaded');
  } catch (error) {
    if (shutdown.aborted) return;
    throw error;
  }
  void judge.examine?.(shutdown);
}

await service.run(
  [
    prepareJudge(),
    log.process(
      judgeFold,
      {
        group: GROUP,
        settings: {
          votes,
          hintVotes,
          revises: true,
          sweepsAtClose: true,
          likedGivesNoHint: true,
          thumbsSettle: true,
          laterWishesClear: true,
          weakVerdict: config.weakVerdict,
        },
        owed: enqueueOwed,
        emitted: metrics.count,
      },
      shutdown,
    ),
    queue.work((job, signal) => castVote(deps, job, signal), { concurrency: config.concurrency }, shutdown),
    every(config.sweepMs, () => expireVotes(deps), shutdown, warn('could not append vote expiries')),
    // A retried vote that is no longer owed ends at once.
    every(config.retryAfterMs, () => queue.retryAll(), shutdown, warn('could not requeue failed votes')),
  ],
  [() => queue.close(), () => server.close(), async () => judge.close?.()],
  [queue.refused],
);
