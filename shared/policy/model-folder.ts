import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CLAW_NANO = 'claw-nano';

/** Thrown when a name on the command line stands for no model; the message says what to do. */
export class UnknownModel extends Error {
  override readonly name = 'UnknownModel';
}

/**
 * The folder of a model by its name on the command line: `claw-nano`, which is shipped, or a path.
 * @throws UnknownModel when there is no such folder, or a part of a model is not in it
 */
export function modelFolder(model: string): string {
  if (model === CLAW_NANO) return fileURLToPath(new URL('./claw-nano/model', import.meta.url));
  const folder = resolve(model);
  const found = existsSync(join(folder, '.')) ? readdirSync(folder) : [];
  const missing = parts.filter(({ test }) => !found.some((name) => test.test(name)));
  if (missing.length === 0) return folder;
  const what = found.length === 0 ? 'nothing there' : `without ${missing.map(({ name }) => name).join(', ')}`;
  throw new UnknownModel(
    `no model at ${folder} (${what}): give ${CLAW_NANO}, a folder in Hugging Face format with config.json, ` +
      'tokenizer.json and safetensors, or the id of one on the hub, owner/name',
  );
}

const parts = [
  { name: 'config.json', test: /^config\.json$/ },
  { name: 'tokenizer.json', test: /^tokenizer\.json$/ },
  { name: '*.safetensors', test: /\.safetensors$/ },
];
