import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/**
 * Puts a bench's tables between their two marks in docs/understand/benchmarks.md. Rejects when the page has no such
 * marks.
 */
export async function writeTables(
  bench: 'policy' | 'load' | 'people' | 'training server' | 'rollback',
  text: string,
): Promise<void> {
  const [begin, end] = [`<!-- tables of the ${bench}: begin -->`, `<!-- tables of the ${bench}: end -->`];
  const page = fileURLToPath(new URL('../../docs/understand/benchmarks.md', import.meta.url));
  const before = await readFile(page, 'utf8');
  const [from, to] = [before.indexOf(begin), before.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${page} has no place for tables: ${begin} ... ${end}`);
  await writeFile(page, `${before.slice(0, from + begin.length)}\n${text}\n${before.slice(to)}`);
}
