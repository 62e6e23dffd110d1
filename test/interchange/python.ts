import { spawnSync } from 'node:child_process';
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

/** What `transformers serve` needs besides. */
const servingPackages = [
  'fastapi==0.165.0',
  'uvicorn==0.54.0',
  'starlette==1.10.0',
  'openai==3.54.0',
  'pydantic==2.14.3',
  'rich==15.0.0',
];

/**
 * A Python with PyTorch, transformers and PEFT: the one that CLAWLOOP_TEST_PYTHON names, else one in `.venv`,
 * which is made and filled from the Python package index at the first use.
 */
export const pythonWithPeft = (): string => pythonWith('torch, transformers, peft', packages);

/** The same, able to run `transformers serve`. */
export const pythonWithServing = (): string =>
  pythonWith('torch, transformers, fastapi, uvicorn, openai', [...packages, ...servingPackages]);

/** What serves the real vLLM on the CPU; in a folder of its own, since it wants other versions. */
export function vllmCommand(): string {
  const given = process.env.CLAWLOOP_TEST_VLLM;
  if (given !== undefined) return given;
  const folder = join(root, '.venv-vllm');
  run('python3', [join(import.meta.dirname, 'vllm_environment.py'), folder, '0.32.0', '2.13.0', '0.13.9']);
  return join(folder, 'bin', 'vllm');
}

function pythonWith(modules: string, needed: readonly string[]): string {
  const given = process.env.CLAWLOOP_TEST_PYTHON;
  if (given !== undefined) return given;
  run('python3', [join(import.meta.dirname, 'environment.py'), environment, modules, ...needed]);
  return join(environment, 'bin', 'python');
}

/** @throws Error with what it wrote */
export function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${error?.message ?? stderr}`);
}
