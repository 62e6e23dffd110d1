import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Reference numbers from PyTorch and transformers. MANIFEST.md in the same folder describes each file. */
const root = new URL('../../../test/fixtures/reference/', import.meta.url);

export const referencePath = (name: string): string => fileURLToPath(new URL(name, root));

export const readReference = (name: string): unknown => JSON.parse(readFileSync(referencePath(name), 'utf8'));
