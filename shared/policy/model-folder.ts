import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CLAW_NANO = 'claw-nano';

/**
 * The folder of a model by its name on the command line: `claw-nano`, which is shipped, or a path.
 * @throws when there is no such folder; the message says what to do.
 */
export function modelFolder(model: string): string {
  if (model === CLAW_NANO) return fileURLToPath(new URL('./claw-nano/model', import.meta.url));
  const folder = resolve(model);
  if (existsSync(join(folder, 'config.json'))) return folder;
  throw new Error(
    `no model at ${folder}: give ${CLAW_NANO} or a folder with config.json and safetensors (Hugging Face format)`,
  );
}
