import { readReport } from '../../../shared/service/judge-exam.ts';
import type { Finding } from './checks.ts';

/** How the judge with a model did in its exam; says nothing where none was examined. */
export async function judgeExam(dataFolder: string): Promise<readonly Finding[]> {
  const report = await readReport(dataFolder);
  if (report === undefined) return [];
  const { model, text, passed } = report;
  return [{ state: passed ? 'ok' : 'bad', what: `judge ${model}: ${text}` }];
}
