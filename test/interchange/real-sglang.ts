import { join } from 'node:path';
import { type EngineProcess, startEngine } from './engine-process.ts';
import { pythonWithSglang } from './python.ts';

/** SGLang on the CPU with the model of a folder, computed in f32; resolves when it answers. */
export const startSglang = (folder: string): Promise<EngineProcess> =>
  startEngine({
    name: 'SGLang',
    command: pythonWithSglang(),
    argv: (port) => [
      join(import.meta.dirname, 'sglang_cpu.py'),
      '--model-path',
      folder,
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--device',
      'cpu',
      '--dtype',
      'float32',
      '--attention-backend',
      'torch_native',
      '--sampling-backend',
      'pytorch',
      '--disable-overlap-schedule',
      '--skip-server-warmup',
      '--incremental-streaming-output',
      '--enable-lora',
      '--max-lora-rank',
      '16',
      '--lora-target-modules',
      'all',
      '--lora-backend',
      'torch_native',
      '--constrained-json-disable-any-whitespace',
      '--tool-call-parser',
      'qwen',
      '--mem-fraction-static',
      '0.3',
      '--max-total-tokens',
      '32768',
    ],
    environment: { SGLANG_USE_CPU_ENGINE: '1', OMP_NUM_THREADS: '1' },
  });
