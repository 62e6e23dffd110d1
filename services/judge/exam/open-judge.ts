import type { JudgeConfig } from '../../../shared/config/judge.ts';
import { fetchingInService } from '../../../shared/hub/fetching-in-service.ts';
import { isServiceError } from '../../../shared/runtime/errors.ts';
import { type ExamReport, removeReport, writeReport } from '../../../shared/runtime/judge-exam.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Judge } from '../judges/judge.ts';
import { createJudge, createStandIn, examineeOf, isExamined } from '../judges/judges.ts';
import { examTimeLimit, retriesOf } from '../tries.ts';
import { readExchanges } from './exam.ts';
import { type Examined, type ExamProgress, examinedJudge } from './examined-judge.ts';
import { openSitting } from './sitting.ts';

/**
 * Opens the configured judge, with an exam if it needs one.
 *
 * @param signal aborts the download of its model
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
      logger.warn({ err }, 'could not remove the report of an earlier exam'),
    );
    return judge;
  }
  const { concurrency } = config;
  const { model, server, asksServer, advice } = examineeOf(config);
  const timeLimitMs = examTimeLimit(config, judge);
  return examinedJudge({
    judge,
    advice,
    standIn: createStandIn(config),
    sitting: openSitting(judge, readExchanges(), { concurrency, timeLimitMs, asksServer }),
    report: reportExam({ judge: judge.name, model, server }, config, logger),
    retries: retriesOf(config, judge),
  });
}

/**
 * Reports the exam: the result in the log and the data folder, and at most one warning that it cannot finish. An
 * unreachable server may still be loading its model, so that warning waits for `voteAttempts` attempts in a row.
 */
function reportExam(
  examinee: Pick<ExamReport, 'judge' | 'model' | 'server'>,
  { dataFolder, voteAttempts }: Pick<JudgeConfig, 'dataFolder' | 'voteAttempts'>,
  logger: Logger,
): (progress: ExamProgress) => void {
  let wasWarned = false;
  return (progress) => {
    const { text } = progress;
    if (progress.kind === 'unfinished') {
      if (wasWarned || (isPerhapsLoading(progress.error) && progress.vain < voteAttempts)) return;
      wasWarned = true;
      logger.warn(examinee, text);
      return;
    }
    const { result } = progress;
    logger[result.passed ? 'info' : 'warn'](result, text);
    const { right, of, passed } = result;
    writeReport(dataFolder, { ...examinee, right, of, passed, text }).catch((err: unknown) =>
      logger.warn({ err }, 'could not write the exam report'),
    );
  };
}

const isPerhapsLoading = (error: unknown): boolean =>
  isServiceError(error) &&
  (error.code === 'judge_unreachable' ||
    (error.code === 'judge_refused' && /\b50[234]\b/.test(error.message)));
