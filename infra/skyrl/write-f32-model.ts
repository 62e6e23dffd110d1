import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import {
  readAllTensors,
  readSafetensors,
  writeSafetensors,
} from '../../shared/policy/checkpoints/safetensors.ts';
import { modelFolder } from '../../shared/policy/model/model-folder.ts';

const Config = z.record(z.string(), z.unknown());

/**
 * Writes a copy of a model folder with f32 weights, whole or not at all. SkyRL keeps an adapter in the model's type: f16 does
 * not run on a CPU, and in bf16 small updates are lost. A copy that is there already stays.
 *
 * @throws Error for a folder that is no model
 */
export async function writeF32Model(from: string, to: string): Promise<void> {
  const files = await readdir(to).catch(() => []);
  if (files.length > 0) return;
  await mkdir(dirname(to), { recursive: true });
  const part = await mkdtemp(join(dirname(to), `${basename(to)}-part-`));
  try {
    for (const name of await readdir(from)) {
      const [source, target] = [join(from, name), join(part, name)];
      if (name.endsWith('.safetensors')) {
        const tensors = await readAllTensors(await readSafetensors(source));
        await writeSafetensors(target, tensors, { dtype: 'F32', metadata: { format: 'pt' } });
      } else if (name === 'config.json') {
        const config = Config.parse(JSON.parse(await readFile(source, 'utf8')));
        await writeFile(target, JSON.stringify({ ...config, torch_dtype: 'float32' }, null, 2));
      } else if (/\.(json|jinja)$/.test(name)) await copyFile(source, target);
    }
    await chmod(part, 0o755); // a temporary folder is private, and a model is not
    await rename(part, to);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

// write-f32-model.ts MODEL FOLDER: MODEL is a folder, or the name of an included model
if (import.meta.main) {
  const [model, folder] = process.argv.slice(2);
  if (model === undefined || folder === undefined) {
    console.error('usage: npm run model:f32 -- MODEL FOLDER');
    process.exit(2);
  }
  await writeF32Model(modelFolder(model), resolve(folder));
  console.log(`f32 copy of ${model}: ${resolve(folder)}`);
}
