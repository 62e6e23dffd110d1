import { fetchingInService } from '../../../shared/hub/fetching-in-service.ts';
import { removeReport, writeReport } from '../../../shared/service/judge-exam.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import type { JudgeConfig } from '../config.ts';
import type { Judge } from '../judges/judge.ts';
import { createJudge, createStandIn, examineeOf, isExamined } from '../judges/judges.ts';
import { examine, readExchanges } from './exam.ts';
import { type Examined, examinedJudge } from './examined-judge.ts';

/** ms between two tries of an exam whose server is away, as serving is while it loads its model. */
const RETRY_MS = 5_000;

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
  const exchanges = readExchanges();
  const { model, server, flag } = examineeOf(config);
  let wasTold = false; // once is enough while serving loads its model
  return examinedJudge({
    judge,
    standIn: createStandIn(config),
    modelFlag: flag,
    exam: (until) => examine(judge, exchanges, config.concurrency, until),
    tell: ({ result, error, text }) => {
      if (result === undefined) {
        if (!wasTold) logger.info({ reason: error instanceof Error ? error.message : 'unknown' }, text);
        wasTold = true;
        return;
      }
      logger[result.passed ? 'info' : 'warn'](result, text);
      const { right, of, passed } = result;
      const report = {
        ...{ judge: judge.name, model, server },
        ...{ right, of, passed, text },
      };
      writeReport(config.dataFolder, report).catch((err: unknown) =>
        logger.warn({ err }, 'the report of the exam could not be written'),
      );
    },
    retryMs: RETRY_MS,
  });
}
