import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import { startClawLoop, until } from '../../e2e/harness/clawloop.ts';
import { processorMs, startEngine, startGenerator, startPassThrough } from './processes.ts';

const AT_ONCE = 16;
const ROUND_MS = 4_000;
const ROUNDS = 4;
const services = ['serving', 'collector', 'judge', 'trainer'] as const;
type Costs = Readonly<Record<(typeof services)[number], number>>;

/**
 * The whole loop under load: chats of 300 bytes, each with another question, while collector, judge and trainer take
 * in what they mean. The peer is a bare Fastify that only forwards. Prints requests per second and what each service
 * costs per chat, until everything is folded.
 */
export async function benchLoop(): Promise<void> {
  const engine = await startEngine();
  const peer = await startPassThrough(engine.url);
  const generator = startGenerator();
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-load-'));
  const loop = await startClawLoop(folder, [
    '--serving-engine',
    'upstream',
    '--serving-upstream-url',
    `${engine.url}/v1`,
    '--serving-max-concurrent-per-key',
    '1000',
  ]);
  const log = await openSqliteLog({ folder: join(folder, 'log') });
  try {
    await engine.setPace({ tokens: 16, firstTokenMs: 0, tokenMs: 0 });
    const pids = await loop.pids();
    const costs = async (): Promise<Costs> =>
      Object.fromEntries(
        await Promise.all(services.map(async (name) => [name, await processorMs(pids[name]!)])),
      ) as Costs;
    const isFolded = async () => {
      const lags = await Promise.all(['attribute', 'assemble', 'submit', 'judge'].map(log.lag));
      return lags.flat().every(({ position, end }) => position >= end);
    };
    const order = { size: 'small', stream: false, atOnce: AT_ONCE, mark: '', isVaried: true } as const;
    await generator.ask({ ...order, url: loop.url, ms: 1_500 });
    await generator.ask({ ...order, url: peer.url, ms: 1_500 });
    await until('the start is folded', isFolded);
    const rates: { peer: number[]; loop: number[] } = { peer: [], loop: [] };
    const before = await costs();
    let chats = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const forwarded = await generator.ask({ ...order, url: peer.url, ms: ROUND_MS });
      const taken = await generator.ask({ ...order, url: loop.url, ms: ROUND_MS });
      rates.peer.push(forwarded.answers / forwarded.seconds);
      rates.loop.push(taken.answers / taken.seconds);
      chats += taken.answers;
      await until('everything is folded', isFolded);
    }
    const after = await costs();
    const perChat = services.map((name) => (after[name] - before[name]) / chats);
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    console.log(`${chats} chats, ${AT_ONCE} at once`);
    console.log(
      formatTable(
        [
          'pass-through, req/s',
          'whole loop, req/s',
          'ratio',
          ...services.map((name) => `${name}, ms`),
          'all, ms',
        ],
        [
          [
            Math.round(mean(rates.peer)),
            Math.round(mean(rates.loop)),
            (mean(rates.loop) / mean(rates.peer)).toFixed(2),
            ...perChat.map((ms) => ms.toFixed(3)),
            perChat.reduce((sum, ms) => sum + ms, 0).toFixed(3),
          ],
        ],
      ),
    );
  } finally {
    generator.stop();
    peer.stop();
    await log.close();
    await loop.stop();
    await rm(folder, { recursive: true, force: true });
    engine.stop();
  }
}
