import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { utcNow } from './clock.ts';
import { writeDurably } from './write-durably.ts';

const AccessKeys = z.object({
  keys: z.array(
    z.object({
      id: z.string().describe('stands in the facts; nothing is matched across ids'),
      name: z.string(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      createdAt: z.string(),
    }),
  ),
});
export type AccessKey = z.output<typeof AccessKeys>['keys'][number];

export const hashOfKey = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** The access keys of a data folder; none when the file is not there. Throws when it is malformed. */
export async function readAccessKeys(path: string): Promise<readonly AccessKey[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? [] : AccessKeys.parse(JSON.parse(text)).keys;
}

/** Makes an access key and stores its hash. The secret is returned once and kept nowhere. */
export async function createAccessKey(
  path: string,
  name: string,
): Promise<{ readonly id: string; readonly secret: string }> {
  const secret = `claw-${randomBytes(24).toString('base64url')}`;
  const key: AccessKey = {
    id: `key-${randomBytes(4).toString('hex')}`,
    name,
    sha256: hashOfKey(secret).toString('hex'),
    createdAt: utcNow(),
  };
  await writeDurably(path, JSON.stringify({ keys: [...(await readAccessKeys(path)), key] }, null, 2));
  return { id: key.id, secret };
}
