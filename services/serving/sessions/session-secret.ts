import { randomBytes, scryptSync } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';

const SECRET_BYTES = 32;

/**
 * The secret that signs session keys and answer ids: from the settings, or from a file that is created once with mode
 * 0600. If two processes create it at the same time, both use the file of the first.
 */
export async function openSessionSecret(path: string, configured: string | undefined): Promise<Uint8Array> {
  if (configured !== undefined) return Buffer.from(configured, 'utf8');
  const existing = await readSecret(path);
  if (existing !== undefined) return existing;
  await makeSecret(path);
  const made = await readSecret(path);
  if (made === undefined) throw new Error(`${path} disappeared`);
  return made;
}

/**
 * Tells whether two servings of a log have the same secret, and reveals nothing else. It is slow to compute, because a
 * secret from the settings may be a phrase that can be guessed.
 */
export const fingerprintOf = (secret: Uint8Array, logId: string): string =>
  scryptSync(secret, `clawloop session secret\n${logId}`, 16).toString('hex');

/** Undefined: there is no file. @throws if the file contains no valid secret, because signatures could be guessed */
async function readSecret(path: string): Promise<Uint8Array | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const secret = Buffer.from(text.trim(), 'base64url');
  if (secret.length < SECRET_BYTES)
    throw new Error(`${path} contains no valid secret; remove the file to create a new one`);
  return secret;
}

/** Creates the file atomically and never replaces an existing one. */
async function makeSecret(path: string): Promise<void> {
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${randomBytes(SECRET_BYTES).toString('base64url')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(temporary, { force: true });
  }
}
