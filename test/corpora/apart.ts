import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the ear learns from. */
export const earData = fileURLToPath(new URL('../../services/judge/ear/data', import.meta.url));

/** Letters and digits alone, so that neither case nor punctuation hides that two texts are one. */
export const bare = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\\n/g, ' ')
    .replace(/[^\p{L}\p{N}]+/gu, '');

/** What anybody says ("thanks", "wrong", "太长") belongs to no set. UTF-8 bytes of the bare text. */
const COMMON = 15;

export const isOwn = (text: string): boolean => Buffer.byteLength(bare(text)) > COMMON;

/** All lines and cells of the files below a folder, bare, one per line; empty where there is none. */
export function bareFolder(folder: string): string {
  if (!existsSync(folder)) return '';
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .flatMap((path) => readFileSync(path, 'utf8').split(/[\n\t]/))
    .map(bare)
    .join('\n');
}
