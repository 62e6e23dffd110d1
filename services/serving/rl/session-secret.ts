import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';

const SECRET_BYTES = 32;

/**
 * What session keys are signed with: out of the settings, or out of a file that is made once, mode 0600. Of
 * two processes that make it at the same time one wins, and both read that one's.
 */
export async function openSessionSecret(path: string, configured: string | undefined): Promise<Uint8Array> {
  if (configured !== undefined) return Buffer.from(configured, 'utf8');
  const found = await readSecret(path);
  if (found !== undefined) return found;
  await makeSecret(path);
  const made = await readSecret(path);
  if (made === undefined) throw new Error(`${path} is gone`);
  return made;
}

/** Undefined where there is no file. @throws where it holds no secret: anyone could guess a signature */
async function readSecret(path: string): Promise<Uint8Array | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const secret = Buffer.from(text.trim(), 'base64url');
  if (secret.length < SECRET_BYTES) throw new Error(`${path} holds no secret; remove it, and one is made`);
  return secret;
}

/** Whole under its name or not at all, and never over one that is there. */
async function makeSecret(path: string): Promise<void> {
  const own = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const file = await open(own, 'wx', 0o600);
    try {
      await file.writeFile(`${randomBytes(SECRET_BYTES).toString('base64url')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(own, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(own, { force: true });
  }
}
