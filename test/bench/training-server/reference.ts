import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type SkyrlPlatform, skyrlPython } from '../../../infra/skyrl/install.ts';
import type { ServerSequence } from '../../../shared/tinker/training-server.ts';

const Row = z.array(z.number());
const Answer = z.object({
  /** log p of each response token under the base, nats, [N][T] */
  base: z.array(Row),
  adapters: z.array(
    z.object({
      logProbs: z.array(Row),
      /** mean KL(adapter || base) over the response tokens and the whole vocabulary, nats */
      klToBase: z.number(),
      /** |B A alpha / rank| / |W| over all adapted matrices, Frobenius norms */
      relativeSize: z.number(),
    }),
  ),
});
export type Reference = z.output<typeof Answer>;

/**
 * What transformers and PEFT compute in f32 for a model and for adapters of it.
 *
 * @throws Error with the end of their output
 */
export async function referenceOf(
  platform: SkyrlPlatform,
  model: string,
  adapters: readonly string[],
  sequences: readonly ServerSequence[],
): Promise<Reference> {
  const script = fileURLToPath(new URL('./reference_scores.py', import.meta.url));
  const child = spawn(skyrlPython(platform), [script, model, ...adapters], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [text, said] = ['', ''];
  child.stdout.on('data', (part: Buffer) => (text += part));
  child.stderr.on('data', (part: Buffer) => (said = `${said}${part}`.slice(-2_000)));
  child.stdin.on('error', () => {}); // `close` reports the reason
  child.stdin.end(JSON.stringify(sequences));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`transformers ended with ${code}: ${said}`);
  return Answer.parse(JSON.parse(text));
}
