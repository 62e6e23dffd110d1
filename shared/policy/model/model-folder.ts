import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CLAW_NANO = 'claw-nano';

/** Thrown if there is no model of a given name; the message says what to do. */
class UnknownModel extends Error {
  override readonly name = 'UnknownModel';
}

/**
 * The folder of a model by its name on the command line: `claw-nano`, which is shipped, or a path.
 * @throws UnknownModel if the folder is missing or incomplete
 */
export function modelFolder(model: string): string {
  if (model === CLAW_NANO) return fileURLToPath(new URL('../../claw-nano/model', import.meta.url));
  const folder = resolve(model);
  const names = existsSync(join(folder, '.')) ? readdirSync(folder) : [];
  const missing = parts.filter(({ test }) => !names.some((name) => test.test(name)));
  if (missing.length === 0) return folder;
  const problem =
    names.length === 0
      ? 'the folder is empty or missing'
      : `missing: ${missing.map(({ name }) => name).join(', ')}`;
  throw new UnknownModel(
    `no model at ${folder} (${problem}). Use ${CLAW_NANO}, a folder in Hugging Face format with config.json, ` +
      'tokenizer.json and safetensors, or the id of a model on the hub (owner/name)',
  );
}

const parts = [
  { name: 'config.json', test: /^config\.json$/ },
  { name: 'tokenizer.json', test: /^tokenizer\.json$/ },
  { name: '*.safetensors', test: /\.safetensors$/ },
];
