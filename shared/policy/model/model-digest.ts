import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Files that an adapter's numbers depend on: shape, weights, and the meaning of token ids. */
const isRelevant = (name: string): boolean =>
  name === 'config.json' || name === 'tokenizer.json' || name.endsWith('.safetensors');

/**
 * sha256 over the files of a model folder that its adapters depend on, and their names. Reads all weights once:
 * about a second per gigabyte.
 */
export async function modelDigest(folder: string): Promise<string> {
  const total = createHash('sha256');
  for (const name of (await readdir(folder)).filter(isRelevant).sort()) {
    const file = createHash('sha256');
    await pipeline(createReadStream(join(folder, name)), file);
    total.update(`${name}\n${file.digest('hex')}\n`);
  }
  return total.digest('hex');
}
