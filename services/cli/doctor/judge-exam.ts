import { readReport } from '../../../shared/runtime/judge-exam.ts';
import type { Finding } from './checks.ts';

/** The exam result of a judge with a model, if it was examined. */
export async function judgeExam(dataFolder: string): Promise<readonly Finding[]> {
  const report = await readReport(dataFolder);
  if (report === undefined) return [];
  const { model, text, passed } = report;
  return [{ state: passed ? 'ok' : 'bad', what: `judge ${model}: ${text}` }];
}
