import type { ServingConfig } from '../../../shared/config/serving.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { placeOfRedis, redisAddress } from '../../../shared/runtime/redis-of-config.ts';
import { createWaitNotice } from '../../../shared/runtime/wait-notice.ts';
import { openRecordedAnswers, type RecordedAnswers } from './recorded-answers.ts';
import { openSharedAnswers } from './shared-answers.ts';

export type OpenAnswers = RecordedAnswers & { readonly close: () => Promise<void> };

/** Stored answers in a folder; with Kafka and Redis also those of other hosts. @throws Refusal */
export async function openAnswers(
  config: ServingConfig,
  {
    folder,
    secret,
    logger,
  }: { readonly folder: string; readonly secret: Uint8Array; readonly logger: Logger },
): Promise<OpenAnswers> {
  const local = openRecordedAnswers(folder);
  // the embedded log is of one host, and `clawloop forget` erases what its folder holds
  if (config.queue !== 'redis' || config.log !== 'kafka') return { ...local, close: async () => {} };
  const { openRedisPlace } = await import('./redis-place.ts');
  const where = placeOfRedis(config);
  const bytes = config.sharedAnswersMib * 2 ** 20;
  const place = await openRedisPlace({
    address: await redisAddress(config),
    prefix: `${config.redisPrefix}:answers:`,
    limits: { bytes, bytesPerOwner: bytes / 4 },
    notice: createWaitNotice({
      away: (reason, seconds) =>
        logger.warn(
          { reason, seconds },
          `${where} does not answer: a request repeated at another host gets another answer`,
        ),
      back: (seconds) => logger.info({ seconds }, `${where} is back: stored answers are shared again`),
    }),
  });
  return { ...openSharedAnswers({ local, place, secret }), close: place.close };
}
