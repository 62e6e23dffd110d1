import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CLAW_NANO = 'claw-nano';
/** The variant of claw-nano that calls tools. */
export const CLAW_NANO_TOOLS = 'claw-nano-tools';

/** Folders of the models that are shipped. */
const shipped: ReadonlyMap<string, string> = new Map(
  [
    [CLAW_NANO, '../../claw-nano/model'],
    [CLAW_NANO_TOOLS, '../../claw-nano/tools-model'],
  ].map(([name, path]) => [name!, fileURLToPath(new URL(path!, import.meta.url))]),
);

/** Whether a name is that of a model which is shipped: tiny, and with defaults that were measured. */
export const isShipped = (model: string): boolean => shipped.has(model);

/** Thrown if there is no model of a given name; the message says what to do. */
class UnknownModel extends Error {
  override readonly name = 'UnknownModel';
}

/**
 * The folder of a model by its name on the command line: that of a shipped model, or a path.
 * @throws UnknownModel if the folder is missing or incomplete
 */
export function modelFolder(model: string): string {
  const own = shipped.get(model);
  if (own !== undefined) return own;
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
