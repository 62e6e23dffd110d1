import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { holdingFile } from './claim.ts';
import { utcNow } from './clock.ts';
import { Refusal } from './refusal.ts';
import { writeDurably } from './write-durably.ts';

export const keyLimits = z.object({
  requestsPerMinute: z.int().min(1).optional(),
  tokensPerMinute: z.int().min(1).optional().describe('of prompts and answers'),
  tokensPerDay: z.int().min(1).optional().describe('of prompts and answers'),
});
export type KeyLimits = z.output<typeof keyLimits>;

const AccessKeys = z.object({
  keys: z.array(
    z.object({
      id: z.string().describe('stands in the facts; nothing is matched across ids'),
      name: z.string().describe('whom or what it is for; one user may have several'),
      adapter: z.string().optional().describe('the only one that it opens; any unless told'),
      ...keyLimits.shape,
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      createdAt: z.string(),
      expiresAt: z.iso.datetime().optional().describe('opens nothing from then on; never unless told'),
    }),
  ),
});
export type AccessKey = z.output<typeof AccessKeys>['keys'][number];

export const hashOfKey = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** The access keys of a data folder; none where there is no file. @throws Refusal where it cannot be read */
export async function readAccessKeys(path: string): Promise<readonly AccessKey[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Refusal(`${path} cannot be read: ${error.message}`);
  });
  if (text === undefined) return [];
  const parsed = AccessKeys.safeParse(parseJson(text));
  if (parsed.success) return parsed.data.keys;
  throw new Refusal(`${path} holds no list of access keys: mend it, or bring back what was there before`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Makes an access key and stores its hash: of 192 random bits a plain SHA-256 is as good as a slow one. The
 * secret is returned once and kept nowhere.
 */
export async function createAccessKey(
  path: string,
  name: string,
  rules: Partial<Pick<AccessKey, 'adapter' | 'expiresAt' | keyof KeyLimits>> = {},
): Promise<{ readonly id: string; readonly secret: string }> {
  const secret = `claw-${randomBytes(24).toString('base64url')}`;
  const key: AccessKey = {
    id: `key-${randomBytes(4).toString('hex')}`,
    name,
    sha256: hashOfKey(secret).toString('hex'),
    createdAt: utcNow(),
    ...rules,
  };
  AccessKeys.parse({ keys: [key] }); // what could not be read again would lock everybody out
  await changeAccessKeys(path, (before) => [...before, key]);
  return { id: key.id, secret };
}

/** From then on the key opens nothing. False when there is none of that id. */
export async function removeAccessKey(path: string, id: string): Promise<boolean> {
  const has = (keys: readonly AccessKey[]) => keys.some((key) => key.id === id);
  if (!has(await readAccessKeys(path))) return false;
  let wasThere = false;
  await changeAccessKeys(path, (before) => {
    wasThere = has(before);
    return before.filter((key) => key.id !== id);
  });
  return wasThere;
}

/** Reads, changes and writes as one step: of two commands at once neither undoes what the other did. */
const changeAccessKeys = (
  path: string,
  change: (before: readonly AccessKey[]) => readonly AccessKey[],
): Promise<void> =>
  holdingFile(`${path}.lock`, async () => {
    const keys = change(await readAccessKeys(path));
    await writeDurably(path, JSON.stringify({ keys }, null, 2));
  });
