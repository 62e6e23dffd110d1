import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from './config.ts';

/** Of the session protocol's keys, which serving mints itself. */
export const SESSION_KEY_BEGINS = 'sk-sess-';
const SHORTEST = 16;

/** An access key out of the settings: nobody checks how it was made, so it must be long. */
export const configuredKey = z
  .string()
  .min(SHORTEST, `an access key has ${SHORTEST} characters or more: openssl rand -hex 24`)
  .regex(/^\S+$/, 'an access key has no spaces')
  .refine((key) => !key.startsWith(SESSION_KEY_BEGINS), 'sk-sess- begins the key of a session');

/** Settings that say which access key there is, besides those that `clawloop keys` makes. */
export type KeySettings = { readonly apiKey?: string | undefined; readonly apiKeyFile?: string | undefined };

/** The access key that the settings give or name a file of. @throws ConfigError */
export function keyOf({ apiKey, apiKeyFile }: KeySettings): string | undefined {
  if (apiKeyFile === undefined) return apiKey;
  if (apiKey !== undefined) throw new ConfigError('give --api-key or --api-key-file, not both');
  const parsed = configuredKey.safeParse(textOf(apiKeyFile).trim());
  if (parsed.success) return parsed.data;
  throw new ConfigError(`--api-key-file ${apiKeyFile}: ${parsed.error.issues[0]!.message}`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`--api-key-file cannot be read: ${(error as Error).message}`);
  }
}
