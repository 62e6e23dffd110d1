import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from './common.ts';

/** Prefix of session keys, which serving creates itself. */
export const SESSION_KEY_BEGINS = 'sk-sess-';
const SHORTEST = 16;

/** An access key from the settings. It must be long, because its randomness cannot be checked. */
export const configuredKey = z
  .string()
  .min(SHORTEST, `an access key needs at least ${SHORTEST} characters, for example from openssl rand -hex 24`)
  .regex(/^\S+$/, 'an access key must not contain spaces')
  .refine((key) => !key.startsWith(SESSION_KEY_BEGINS), 'sk-sess- is the prefix of session keys');

/** Settings for an access key in addition to those of `clawloop keys`. */
export type KeySettings = { readonly apiKey?: string | undefined; readonly apiKeyFile?: string | undefined };

/** The access key from the settings or from the file that they name. @throws ConfigError */
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
    throw new ConfigError(`cannot read --api-key-file: ${(error as Error).message}`);
  }
}
