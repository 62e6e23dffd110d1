import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const reportSchema = z.object({
  judge: z.string(),
  model: z.string(),
  server: z.string(),
  right: z.int(),
  of: z.int(),
  passed: z.boolean(),
  /** the result in words, with what to do */
  text: z.string(),
});
export type ExamReport = z.output<typeof reportSchema>;

const pathIn = (dataFolder: string): string => join(dataFolder, 'judge-exam.json');

/** The judge's last exam, for those who look after the service. */
export const writeReport = (dataFolder: string, report: ExamReport): Promise<void> =>
  writeFile(pathIn(dataFolder), `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });

/** No judge is examined here any more. */
export const removeReport = (dataFolder: string): Promise<void> => rm(pathIn(dataFolder), { force: true });

/** undefined: no judge was examined here. */
export async function readReport(dataFolder: string): Promise<ExamReport | undefined> {
  const text = await readFile(pathIn(dataFolder), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return reportSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // half written: the next exam writes it anew
  }
}
