import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../lang/json.ts';

const reportSchema = z.object({
  judge: z.string(),
  model: z.string(),
  server: z.string(),
  right: z.int(),
  of: z.int(),
  passed: z.boolean(),
  /** the result in words, with advice */
  text: z.string(),
});
export type ExamReport = z.output<typeof reportSchema>;

const pathIn = (dataFolder: string): string => join(dataFolder, 'judge-exam.json');

/** Stores the judge's last exam for `clawloop doctor`. */
export const writeReport = (dataFolder: string, report: ExamReport): Promise<void> =>
  writeFile(pathIn(dataFolder), `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });

/** Removes the report when the judge needs no exam. */
export const removeReport = (dataFolder: string): Promise<void> => rm(pathIn(dataFolder), { force: true });

/** Undefined: no judge was examined. */
export async function readReport(dataFolder: string): Promise<ExamReport | undefined> {
  const text = await readFile(pathIn(dataFolder), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  return reportSchema.safeParse(parseJson(text)).data; // incomplete: the next exam writes it again
}
