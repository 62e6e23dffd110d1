import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** Reads `corpus/<name>.json`. Throws if it does not match the schema. */
export function readCorpus<Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> {
  const file = new URL(`../corpus/${name}.json`, import.meta.url);
  return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** Texts to pick from. */
export const texts = z.array(z.string()).min(1).readonly();
