import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { CommonConfig } from '../../config/common.ts';
import { openHealthPort } from '../health.ts';
import { openService } from '../open-service.ts';

/** A service that fails in a given way, to test the start that all services share. */
const Unruly = CommonConfig.extend({
  way: z.enum(['none', 'stops-early', 'fails', 'rejects', 'throws']).default('none'),
  healthPort: z.int().default(0),
});

const { config, logger, metrics, shutdown, run } = await openService('unruly', Unruly);
if (config.way === 'stops-early') process.emit('SIGTERM');
if (config.way === 'rejects') void Promise.reject(new Error('nobody awaits this'));
if (config.way === 'throws')
  setImmediate(() => {
    throw new Error('out of nowhere');
  });
const health = await openHealthPort(
  { host: config.healthHost, port: config.healthPort },
  () => undefined,
  metrics,
);
logger.info({ port: health.port }, 'ready');
const work = config.way === 'fails' ? Promise.reject(new Error('the work failed')) : forever();
await run([work], [health.close]);

async function forever(): Promise<void> {
  await delay(2 ** 30, undefined, { signal: shutdown }).catch(() => {});
}
