import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AdapterFile,
  adapterFileNames,
  readAdapter,
} from '../../../shared/policy/checkpoints/adapter-files.ts';

/** The shape that a server's adapter must have. */
export type ExpectedAdapter = {
  /** of all tensors, by name */
  readonly shapesOf: (rank: number) => ReadonlyMap<string, readonly number[]>;
  readonly rank: number;
  readonly alpha: number;
};

/**
 * Reads the adapter that a server has trained from the contents of its PEFT files. The targets are those of its
 * tensors, because servers leave them out of the configuration.
 *
 * @returns the adapter, or why it cannot be used
 */
export async function trainedAdapter(
  files: ReadonlyMap<string, Uint8Array>,
  expected: ExpectedAdapter,
): Promise<AdapterFile | string> {
  const missing = adapterFileNames.filter((name) => !files.has(name));
  if (missing.length > 0) return `it has no ${missing.join(' and no ')}`;
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-adapter-'));
  try {
    for (const name of adapterFileNames) await writeFile(join(folder, name), files.get(name)!);
    const adapter = await readAdapter(folder);
    return faultOf(adapter, expected) ?? adapter;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function faultOf({ config, tensors }: AdapterFile, expected: ExpectedAdapter): string | undefined {
  if (config.rank !== expected.rank) return `its rank is ${config.rank}, not ${expected.rank}`;
  if (config.alpha !== expected.alpha) return `its alpha is ${config.alpha}, not ${expected.alpha}`;
  const shapes = expected.shapesOf(expected.rank);
  for (const [name, shape] of shapes) {
    const tensor = tensors.get(name);
    if (tensor === undefined) return `it has no ${name}`;
    if (tensor.shape.join() !== shape.join()) return `${name} has shape [${tensor.shape}], not [${shape}]`;
    if (!tensor.values.every(Number.isFinite)) return `${name} has a value that is not finite`;
  }
  const unknown = [...tensors.keys()].find((name) => !shapes.has(name));
  return unknown === undefined ? undefined : `the model has no place for its ${unknown}`;
}
