import type { AddressInfo } from 'node:net';
import { keyOf } from '../../shared/config/configured-key.ts';
import { ConsoleConfig } from '../../shared/config/console.ts';
import { topics } from '../../shared/events/define-event.ts';
import { every } from '../../shared/lang/async.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import { isLoopback } from '../../shared/runtime/is-loopback.ts';
import { openKnownKeys } from '../../shared/runtime/known-keys.ts';
import { lowerPriority } from '../../shared/runtime/lower-priority.ts';
import { followKeys } from '../../shared/runtime/open-keys.ts';
import { openService } from '../../shared/runtime/open-service.ts';
import { Refusal } from '../../shared/runtime/refusal.ts';
import { watchLog } from '../../shared/runtime/watch-log.ts';
import type { Change } from './api/shapes.ts';
import { createAudits } from './audits.ts';
import { followLog, type LogReader } from './follow-log.ts';
import { createConsoleMetrics } from './metrics.ts';
import { CACHED_MS, createCached } from './model/cached.ts';
import { createShownTexts } from './model/texts.ts';
import { createPace } from './pace.ts';
import { createConsoleServer } from './server.ts';
import { openStoredModel } from './stored-model.ts';
import { watchTrims } from './watch-trims.ts';

/** Ids in a message; a page that shows others asks anyway when something changed. */
const NAMED = 50;
/** ms between two messages to the pages while turns arrive all the time */
const MOST_PACE_MS = 2_000;
/** Changed turns since the last message that are many: more than one person's chat changes at once. */
const MANY = 20;

lowerPriority();
const service = await openService('console', ConsoleConfig);
const { config, log, logger, shutdown, data, place } = service;

const { model, from, keep } = await openStoredModel({
  log,
  folder: data.snapshots,
  onFailure: (error) => logger.debug({ err: error }, 'could not store the state of the console'),
});
/** Turns and versions that changed since the last message. */
const changed = { turns: new Set<string>(), decisions: 0 };
const collect = (): void => {
  model.turns.commit();
  for (const id of model.turns.takeChanged()) if (changed.turns.size < NAMED) changed.turns.add(id);
};

async function start(): Promise<void> {
  const stored = await followKeys(config, data, { logger, signal: shutdown });
  const keys = openKnownKeys({
    keys: stored,
    configured: keyOf(config),
    always: !isLoopback(config.host),
  });
  if (!isLoopback(config.host) && !(await keys.hasKey()))
    throw new Refusal(
      `refusing to listen on ${config.host} without an access key: create one with ` +
        '`clawloop keys create NAME --operator`, or set CLAWLOOP_CONSOLE_API_KEY',
    );
  const reader = followLog({
    log,
    from,
    onRecord: model.on,
    onRound: collect,
    onStopped: ({ reason }) => {
      model.turns.freeze();
      logger.warn({ reason }, 'a partition has stopped; all others go on');
    },
    refreshMs: config.refreshMs,
    signal: shutdown,
  });
  const kept = keep(reader);
  const metrics = createConsoleMetrics(service.metrics, {
    turns: model.turns.size,
    progress: reader.progress,
    listeners: () => live.listeners(),
    stopped: () => reader.stopped().length,
  });
  const watch = watchLog({
    look: () => Promise.all(topics.map(log.ends)),
    place,
    wait: metrics.logWait,
    logger,
    signal: shutdown,
  });
  const trims = watchTrims({
    log,
    signal: shutdown,
    onStarts: model.trim,
    onFailure: (error) => logger.debug({ err: error }, 'could not look for trims; will retry'),
  });
  const deps = {
    config,
    log,
    data,
    model,
    reader,
    keys,
    storedKeys: stored,
    audits: createAudits(config, shutdown),
    cached: createCached(model.revision, monotonicNow),
    texts: createShownTexts(log),
    logAway: () => awayOf(watch.awaySince()),
    trimmed: trims.trimmed,
    stopping: shutdown,
  };
  const { server, live, overview } = await createConsoleServer(deps, {
    readiness: () =>
      watch.missing() ??
      (reader.isCaughtUp()
        ? whyStopped(reader)
        : `reading the log: ${Math.floor(100 * reader.progress())} %`),
    registry: service.metrics,
    logger,
    metrics,
  });
  await server.listen({ host: config.host, port: config.port }).catch((error: Error) => {
    throw new Refusal(
      `cannot listen on ${config.host}:${config.port}: ${error.message}; give another --port ` +
        '(--console-port with clawloop up), or 0 for any free port',
    );
  });
  const { port } = server.server.address() as AddressInfo;
  logger.info({ port, host: config.host }, 'listening');

  const state = () =>
    `${model.revision()} ${reader.progress()} ${watch.awaySince() ?? ''} ${JSON.stringify(trims.trimmed())} ${reader.stopped().length}`;
  const pace = createPace(state, monotonicNow, {
    cachedMs: CACHED_MS,
    leastMs: config.refreshMs,
    mostMs: Math.max(config.refreshMs, MOST_PACE_MS),
    isBusy: () => changed.turns.size >= MANY,
  });
  const tell = async (): Promise<void> => {
    if (live.listeners() === 0 || !pace.isDue()) return;
    const versions = pace.isRepeated() || model.decisions.revision() !== changed.decisions;
    const change: Change = { ...(await overview()), changed: { turns: [...changed.turns], versions } };
    Object.assign(changed, { turns: new Set(), decisions: model.decisions.revision() });
    live.send(change);
  };
  await service.run(
    [reader.done, trims.done, stored.done, every(config.refreshMs, tell, shutdown)],
    [kept.close, () => server.close(), async () => live.close(), stored.close],
    [model.turns.broken],
  );
}

/** In the words of the services that fold. */
function whyStopped(reader: LogReader): string | undefined {
  const [first] = reader.stopped();
  return first && `partition ${first.at.partition} of ${first.topic} has stopped: ${first.reason}`;
}

const awayOf = (since: string | undefined) => (since === undefined ? null : { place, since });

await start();
