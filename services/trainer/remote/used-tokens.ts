import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { createMutex } from '../../../shared/lang/async.ts';
import { parseJson } from '../../../shared/lang/json.ts';

const UsedTokens = z.object({ tokens: z.int().min(0) });

export type UsedTokensFile = {
  /** tokens that all earlier processes have sent */
  readonly before: number;
  /** Adds what this process has sent since the last write, out of `tokens` in all. Whole or not at all. */
  readonly write: (tokens: number) => Promise<void>;
};

/** The tokens that were sent to a training server from this data folder, for its budget. */
export async function openUsedTokens(path: string): Promise<UsedTokensFile> {
  await mkdir(dirname(path), { recursive: true });
  const before = await readUsed(path);
  const inTurn = createMutex();
  let written = 0;
  return {
    before,
    write: (tokens) =>
      inTurn(async () => {
        if (tokens === written) return;
        // a replay beside the trainer writes here, too
        const used = (await readUsed(path)) + tokens - written;
        const neighbour = `${path}.${process.pid}.tmp`;
        await writeFile(neighbour, `${JSON.stringify({ tokens: used })}\n`);
        await rename(neighbour, path);
        written = tokens;
      }),
  };
}

async function readUsed(path: string): Promise<number> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
  const parsed = UsedTokens.safeParse(parseJson(text));
  if (!parsed.success) throw new Error(`${path} is damaged; correct the number of tokens, or remove it`);
  return parsed.data.tokens;
}
