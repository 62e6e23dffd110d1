import { removeReport, writeReport } from '../../../shared/service/judge-exam.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import type { JudgeConfig } from '../config.ts';
import type { Judge } from '../judges/judge.ts';
import { createJudge, createStandIn, isExamined } from '../judges/judges.ts';
import { examine, readExchanges } from './exam.ts';
import { type Examined, examinedJudge } from './examined-judge.ts';

/** ms between two tries of an exam whose server is away, as serving is while it loads its model. */
const RETRY_MS = 5_000;

/** The judge of these settings, examined where that is called for. */
export function openJudge(config: JudgeConfig, logger: Logger): Judge & Partial<Pick<Examined, 'examine'>> {
  const judge = createJudge(config);
  if (!isExamined(config)) {
    removeReport(config.dataFolder).catch((err: unknown) =>
      logger.warn({ err }, 'the report of an earlier exam could not be removed'),
    );
    return judge;
  }
  const exchanges = readExchanges();
  let wasTold = false; // once is enough while serving loads its model
  return examinedJudge({
    judge,
    standIn: createStandIn(config),
    exam: (signal) => examine(judge, exchanges, config.concurrency, signal),
    tell: ({ result, error, text }) => {
      if (result === undefined) {
        if (!wasTold) logger.info({ reason: error instanceof Error ? error.message : 'unknown' }, text);
        wasTold = true;
        return;
      }
      logger[result.passed ? 'info' : 'warn'](result, text);
      const { right, of, passed } = result;
      const report = {
        ...{ judge: judge.name, model: config.openaiModel, server: config.openaiBaseUrl },
        ...{ right, of, passed, text },
      };
      writeReport(config.dataFolder, report).catch((err: unknown) =>
        logger.warn({ err }, 'the report of the exam could not be written'),
      );
    },
    retryMs: RETRY_MS,
  });
}
