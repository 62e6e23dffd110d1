import { type EngineProcess, startEngine } from './engine-process.ts';
import { vllmCommand } from './python.ts';

export type RealVllm = EngineProcess & {
  /** A figure of its /metrics, summed over its models. */
  readonly metric: (name: string) => Promise<number>;
};

/** vLLM on one thread of the CPU with the model of a folder, computed in f32; resolves when it answers. */
export async function startVllm(folder: string): Promise<RealVllm> {
  const engine = await startEngine({
    name: 'vLLM',
    command: vllmCommand(),
    argv: (port) => [
      'serve',
      folder,
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--dtype',
      'float32',
      '--enable-lora',
      '--max-lora-rank',
      '16',
      '--max-loras',
      '2',
      '--max-cpu-loras',
      '8',
      '--enable-auto-tool-choice',
      '--tool-call-parser',
      'hermes',
      '--structured-outputs-config',
      '{"backend": "xgrammar", "disable_any_whitespace": true}',
    ],
    environment: {
      VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True',
      VLLM_CPU_KVCACHE_SPACE: '1', // GiB
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      OMP_NUM_THREADS: '1',
      VLLM_NO_USAGE_STATS: '1',
    },
  });
  return {
    ...engine,
    metric: async (name) => {
      const lines = (await (await fetch(`${engine.root}/metrics`)).text()).split('\n');
      const values = lines
        .filter((line) => line.startsWith(`${name}{`))
        .map((line) => line.split(' ').at(-1));
      if (values.length === 0) throw new Error(`vLLM has no figure ${name}`);
      return values.reduce((sum, value) => sum + Number(value), 0);
    },
  };
}
