import { isServiceError } from '../../../shared/service/errors.ts';
import { type ExamReport, writeReport } from '../../../shared/service/judge-exam.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import type { JudgeConfig } from '../config.ts';
import type { Told } from './examined-judge.ts';

/**
 * Says how the exam goes: the result in the log and in the data folder, and once that it cannot be finished. A server
 * that cannot be reached may be loading its model, as serving is at start: of that nobody is warned before the tries in a
 * row (`voteAttempts`) are used up.
 */
export function tellExam(
  examinee: Pick<ExamReport, 'judge' | 'model' | 'server'>,
  { dataFolder, voteAttempts }: Pick<JudgeConfig, 'dataFolder' | 'voteAttempts'>,
  logger: Logger,
): (told: Told) => void {
  let wasWarned = false;
  return (told) => {
    const { text } = told;
    if (told.kind === 'unfinished') {
      if (wasWarned || (isPerhapsLoading(told.error) && told.vain < voteAttempts)) return;
      wasWarned = true;
      logger.warn(examinee, text);
      return;
    }
    const { result } = told;
    logger[result.passed ? 'info' : 'warn'](result, text);
    const { right, of, passed } = result;
    writeReport(dataFolder, { ...examinee, right, of, passed, text }).catch((err: unknown) =>
      logger.warn({ err }, 'the report of the exam could not be written'),
    );
  };
}

const isPerhapsLoading = (error: unknown): boolean =>
  isServiceError(error) &&
  (error.code === 'judge_unreachable' ||
    (error.code === 'judge_refused' && /\b50[234]\b/.test(error.message)));
