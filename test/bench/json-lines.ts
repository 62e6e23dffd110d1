import { existsSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';

/** The last line is left out if it is not JSON, because a kill may have cut it off. */
export async function readJsonLines<Line>(file: string): Promise<readonly Line[]> {
  if (!existsSync(file)) return [];
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line, index) => {
    try {
      return [JSON.parse(line) as Line];
    } catch (error) {
      if (index === lines.length - 1) return [];
      throw new Error(`${file}, line ${index + 1}: ${(error as Error).message}`);
    }
  });
}

/** Appends a separate line, also after a line that was cut off. */
export async function addJsonLine(file: string, line: unknown): Promise<void> {
  const cutOff = existsSync(file) && !/(?:^|\n)$/.test(await readFile(file, 'utf8'));
  await appendFile(file, `${cutOff ? '\n' : ''}${JSON.stringify(line)}\n`);
}
