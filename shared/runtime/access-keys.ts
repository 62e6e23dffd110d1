import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseJson } from '../lang/json.ts';
import { holdingFile } from './claim.ts';
import { utcNow } from './clock.ts';
import { Refusal } from './refusal.ts';
import { writeDurably } from './write-durably.ts';

const keyLimits = z.object({
  requestsPerMinute: z.int().min(1).optional(),
  tokensPerMinute: z.int().min(1).optional().describe('of prompts and answers'),
  tokensPerDay: z.int().min(1).optional().describe('of prompts and answers'),
});
export type KeyLimits = z.output<typeof keyLimits>;

export const AccessKey = z.object({
  id: z.string().describe('recorded in events; nothing is matched across ids'),
  name: z.string().describe('who or what the key is for; a user may have several keys'),
  adapter: z.string().optional().describe('the only adapter that the key may use; default: any'),
  operator: z
    .boolean()
    .optional()
    .describe('may use the console and the routes that change what is served; default: no'),
  ...keyLimits.shape,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: z.string(),
  expiresAt: z.iso.datetime().optional().describe('the key is invalid from then on; default: never'),
});
export type AccessKey = z.output<typeof AccessKey>;
const AccessKeys = z.object({ keys: z.array(AccessKey) });

/** What restricts or extends a key. */
export type KeyRules = Partial<Pick<AccessKey, 'adapter' | 'operator' | 'expiresAt' | keyof KeyLimits>>;

export const hashOfKey = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** The access keys of a data folder; none if there is no file. @throws Refusal when it cannot be read */
export async function readAccessKeys(path: string): Promise<readonly AccessKey[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Refusal(`cannot read ${path}: ${error.message}`);
  });
  if (text === undefined) return [];
  const parsed = AccessKeys.safeParse(parseJson(text));
  if (parsed.success) return parsed.data.keys;
  throw new Refusal(`${path} is not a list of access keys: repair it, or restore a backup`);
}

/**
 * A new access key, of which only the hash is stored. For 192 random bits, plain SHA-256 is as safe as a slow hash.
 * The secret is not stored.
 */
export function newAccessKey(
  name: string,
  rules: KeyRules,
): { readonly key: AccessKey; readonly secret: string } {
  const secret = `claw-${randomBytes(24).toString('base64url')}`;
  const key = AccessKey.parse({
    id: `key-${randomBytes(4).toString('hex')}`,
    name,
    sha256: hashOfKey(secret).toString('hex'),
    createdAt: utcNow(),
    ...rules,
  }); // an unreadable key would lock everybody out
  return { key, secret };
}

/** Creates an access key in a data folder. The secret is returned once. */
export async function createAccessKey(
  path: string,
  name: string,
  rules: KeyRules = {},
): Promise<{ readonly id: string; readonly secret: string }> {
  const { key, secret } = newAccessKey(name, rules);
  await changeAccessKeys(path, (before) => [...before, key]);
  return { id: key.id, secret };
}

/** Revokes a key. False if no key has that id. */
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

/** Reads, changes and writes under a lock, so that concurrent commands do not undo each other. */
export const changeAccessKeys = (
  path: string,
  change: (before: readonly AccessKey[]) => readonly AccessKey[] | Promise<readonly AccessKey[]>,
): Promise<void> =>
  holdingFile(`${path}.lock`, async () => {
    const before = await readAccessKeys(path);
    const keys = await change(before);
    if (keys !== before) await writeDurably(path, JSON.stringify({ keys }, null, 2));
  });
