import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { servingFolder } from '../e2e/serving-process.ts';

export type ServingFigures = {
  readonly what: string;
  readonly requestsPerSecond: number;
  /** ms, one request at a time */
  readonly medianMs: number;
  readonly p99Ms: number;
};

const MEASURE_MS = 4_000;
const AT_ONCE = 16;
const body = JSON.stringify({
  model: 'clawloop',
  stream: true,
  messages: [
    { role: 'system', content: 'You are a helpful assistant. '.repeat(40) },
    { role: 'user', content: 'What should I cook tonight?' },
  ],
});

/**
 * Requests per second and latency of serving, recording each turn, beside a Fastify that only hands
 * requests on.
 */
export async function benchServing(): Promise<readonly ServingFigures[]> {
  const engine = await peer('upstream');
  const bare = await peer('pass-through', engine.url);
  const folder = await servingFolder();
  try {
    const flags = ['--engine', 'upstream', '--upstream-url', `${engine.url}/v1`, '--log-level', 'info'];
    const serving = await folder.start([...flags, '--max-concurrent-per-key', '1000']);
    const figures = [
      await measure('the engine alone', engine.url),
      await measure('bare Fastify pass-through', bare.url),
      await measure('serving, each turn durable in the log', serving.url),
    ];
    print(figures);
    return figures;
  } finally {
    await folder.dispose();
    bare.stop();
    engine.stop();
  }
}

async function measure(what: string, url: string): Promise<ServingFigures> {
  const pool = new Pool(url, { connections: AT_ONCE });
  const ask = async () => {
    const response = await pool.request({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await response.body.text();
    if (response.statusCode !== 200 || !text.endsWith('data: [DONE]\n\n'))
      throw new Error(`${what}: ${text}`);
  };
  for (let warm = 0; warm < 200; warm++) await ask();
  const latencies: number[] = [];
  for (const end = performance.now() + MEASURE_MS / 2; performance.now() < end; ) {
    const began = performance.now();
    await ask();
    latencies.push(performance.now() - began);
  }
  let answered = 0;
  const end = performance.now() + MEASURE_MS;
  const began = performance.now();
  const worker = async () => {
    for (; performance.now() < end; answered++) await ask();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const seconds = (performance.now() - began) / 1000;
  await pool.close();
  latencies.sort((a, b) => a - b);
  const quantile = (share: number) => latencies[Math.floor(share * (latencies.length - 1))]!;
  return { what, requestsPerSecond: answered / seconds, medianMs: quantile(0.5), p99Ms: quantile(0.99) };
}

function print(figures: readonly ServingFigures[]): void {
  const bare = figures[1]!;
  const rows = figures.map(({ what, requestsPerSecond, medianMs, p99Ms }) => [
    what.padEnd(40),
    requestsPerSecond.toFixed(0).padStart(8),
    medianMs.toFixed(2).padStart(10),
    p99Ms.toFixed(2).padStart(9),
    (medianMs - bare.medianMs).toFixed(2).padStart(10),
  ]);
  console.log(`streamed chats of 16 chunks; req/s with ${AT_ONCE} at once, latency one at a time\n`);
  for (const row of [[''.padEnd(40), '   req/s', ' median ms', '   p99 ms', '  added ms'], ...rows])
    console.log(row.join(' '));
}

async function peer(...argv: readonly string[]) {
  const child = fork(fileURLToPath(new URL('./serving-peer.ts', import.meta.url)), argv, {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const [port] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}
