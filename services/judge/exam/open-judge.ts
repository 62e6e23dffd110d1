import { fetchingInService } from '../../../shared/hub/fetching-in-service.ts';
import { removeReport } from '../../../shared/service/judge-exam.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import type { JudgeConfig } from '../config.ts';
import type { Judge } from '../judges/judge.ts';
import { createJudge, createStandIn, examineeOf, isExamined } from '../judges/judges.ts';
import { examTimeLimit, retriesOf } from '../tries.ts';
import { readExchanges } from './exam.ts';
import { type Examined, examinedJudge } from './examined-judge.ts';
import { openSitting } from './sitting.ts';
import { tellExam } from './tell-exam.ts';

/**
 * The judge of these settings, examined where that is called for.
 *
 * @param signal ends the fetching of its model
 * @throws ConfigError as createJudge
 */
export function openJudge(
  config: JudgeConfig,
  logger: Logger,
  signal: AbortSignal,
): Judge & Partial<Pick<Examined, 'examine'>> {
  const judge = createJudge(config, fetchingInService(logger, signal));
  if (!isExamined(config)) {
    removeReport(config.dataFolder).catch((err: unknown) =>
      logger.warn({ err }, 'the report of an earlier exam could not be removed'),
    );
    return judge;
  }
  const { concurrency } = config;
  const { model, server, asksServer, advice } = examineeOf(config);
  const timeLimitMs = examTimeLimit(config, judge);
  return examinedJudge({
    ...{ judge, advice },
    standIn: createStandIn(config),
    sitting: openSitting(judge, readExchanges(), { concurrency, timeLimitMs, asksServer }),
    tell: tellExam({ judge: judge.name, model, server }, config, logger),
    retries: retriesOf(config, judge),
  });
}
