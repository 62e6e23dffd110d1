import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Kept between runs: PyTorch is several gigabytes. */
const environment = join(root, '.venv');

const packages = [
  'torch==2.15.0',
  'transformers==5.23.0',
  'peft==0.21.2',
  'safetensors==0.8.0',
  'numpy==2.4.6',
];

/**
 * A Python with PyTorch, transformers and PEFT: the one that CLAWLOOP_TEST_PYTHON names, else one in `.venv`,
 * which is made and filled from the Python package index at the first use.
 */
export function pythonWithPeft(): string {
  const given = process.env.CLAWLOOP_TEST_PYTHON;
  if (given !== undefined) return given;
  const python = join(environment, 'bin', 'python');
  if (!existsSync(python)) run('python3', ['-m', 'venv', environment]);
  if (spawnSync(python, ['-c', 'import torch, transformers, peft']).status !== 0)
    run(python, ['-m', 'pip', 'install', '--quiet', ...packages]);
  return python;
}

/** @throws Error with what it wrote */
export function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${error?.message ?? stderr}`);
}
