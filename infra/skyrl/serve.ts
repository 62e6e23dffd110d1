// npm run training-server -- --model FOLDER: SkyRL's Tinker server in the foreground, until Ctrl-C.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { parseJson } from '../../shared/lang/json.ts';
import { modelFolder } from '../../shared/policy/model/model-folder.ts';
import { whyNoSkyrl } from './install.ts';
import { startSkyrl } from './start-skyrl.ts';

const usage = `npm run training-server -- --model FOLDER [FLAG ...]
  --model FOLDER        model in Hugging Face format, f32 or bf16; required. Give ClawLoop the same folder
  --folder FOLDER       states, adapters and database; default .skyrl/server
  --host ADDRESS        default 127.0.0.1: the server checks no key
  --port PORT           default 8710
  --adapters COUNT      models loaded at once; default 8
  --rank RANK           largest rank of an adapter; default 16
  --platform NAME       cpu or cuda; default cpu
  --backend JSON        further settings of SkyRL's JAX backend, for example {"tensor_parallel_size": 8}
  --verbose             prints the server's whole log`;

const flags = {
  model: { type: 'string' },
  folder: { type: 'string', default: '.skyrl/server' },
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '8710' },
  adapters: { type: 'string', default: '8' },
  rank: { type: 'string', default: '16' },
  platform: { type: 'string', default: 'cpu' },
  backend: { type: 'string', default: '{}' },
  verbose: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const Settings = z.object({
  model: z.string(),
  folder: z.string(),
  host: z.string(),
  port: z.coerce.number().int().min(1).max(65_535),
  adapters: z.coerce.number().int().min(1),
  rank: z.coerce.number().int().min(1),
  platform: z.enum(['cpu', 'cuda']),
  backend: z.string().transform(parseJson).pipe(z.record(z.string(), z.unknown())),
  verbose: z.boolean(),
});

const print = (line: string) => console.error(`training-server: ${line}`);

/** The reason that this model cannot be trained here, with the remedy. */
async function whyNotThisModel(folder: string, platform: string): Promise<string | null> {
  const Config = z.looseObject({ torch_dtype: z.string().optional(), dtype: z.string().optional() });
  const config = Config.parse(JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')));
  if (platform !== 'cpu' || (config.dtype ?? config.torch_dtype) !== 'float16') return null;
  return `${folder} has f16 weights, which JAX does not compute on a CPU. Write an f32 copy: npm run model:f32 -- ${folder} NEW_FOLDER`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: flags });
  const parsed = Settings.safeParse(values);
  if (values.help || !parsed.success) {
    if (!values.help && !parsed.success) print(z.prettifyError(parsed.error));
    console.error(usage);
    return values.help ? 0 : 2;
  }
  const { verbose, ...settings } = parsed.data;
  const model = modelFolder(settings.model);
  const problem = whyNoSkyrl(settings.platform) ?? (await whyNotThisModel(model, settings.platform));
  if (problem !== null) {
    print(problem);
    return 1;
  }
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1000);
  print(`SkyRL loads ${model}: up to two minutes. Ctrl-C ends it.`);
  const ticking = setInterval(() => print(`still loading, ${seconds()} s`), 10_000);
  const server = await startSkyrl({
    ...settings,
    model,
    folder: resolve(settings.folder),
    signal: stop.signal,
    onLine: (line) => void ((verbose || /WARNING|ERROR|JIT compiling/.test(line)) && console.error(line)),
  }).finally(() => clearInterval(ticking));
  print(`ready after ${seconds()} s. ClawLoop trains here with:`);
  print(`  --training-engine tinker --training-url ${server.url} --training-model ${model}`);
  const aborted = new Promise<void>((done) => stop.signal.addEventListener('abort', () => done()));
  await Promise.race([aborted, server.ended()]);
  await server.stop();
  if (stop.signal.aborted) print('stopped');
  else print(`SkyRL ended by itself:\n${server.output().slice(-2_000)}`);
  return stop.signal.aborted ? 0 : 1;
}

process.exitCode = await main().catch((error: Error) => {
  print(error.name === 'AbortError' ? 'stopped' : error.message);
  return error.name === 'AbortError' ? 0 : 1;
});
