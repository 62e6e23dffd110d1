import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { clawloop, startClawLoop } from '../harness/clawloop.ts';
import { type Gap, startBystander } from './bystander.ts';
import { evaluateVersion, type Share } from './evaluate.ts';
import { type Latency, latency } from './latency.ts';
import { watchLog } from './log-watch.ts';
import { createPerson, type SessionReport } from './person.ts';

export type Point = Share & { readonly session: number };

export type SeedReport = {
  readonly seed: number;
  readonly learning: boolean;
  readonly points: readonly Point[];
  readonly sessions: readonly SessionReport[];
  /** sessions until three first replies in a row met the taste */
  readonly sessionsUntilThree: number | undefined;
  readonly failures: number;
  readonly mixed: number;
  readonly versions: number;
  readonly latency: Latency;
  readonly audit: string;
  readonly replay: string;
  readonly kills: readonly string[];
};

export type SeedOptions = {
  readonly seed: number;
  readonly sessions: number;
  readonly learning: boolean;
  /** SIGKILL every service once, at sessions drawn from the seed */
  readonly kill: boolean;
  /** auto, native or wasm; replay must compute on the same one */
  readonly backend?: string;
  readonly flags?: readonly string[];
  /** Called at the end, while all services still run. */
  readonly atEnd?: () => Promise<void>;
  readonly print: (line: string) => void;
};

const percent = (share: number) => `${Math.round(share * 100)} %`.padStart(5);

/** One person with their own ClawLoop, from the first chat to the audit. */
export async function runSeed(options: SeedOptions): Promise<SeedReport> {
  const { seed, sessions, learning, print } = options;
  const backend = ['--backend', options.backend ?? 'auto'];
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-demo-'));
  const loop = await startClawLoop(folder, [...backend, ...(options.flags ?? [])]);
  const startedAt = performance.now();
  const watch = await watchLog(folder, startedAt);
  const closing: (() => Promise<unknown>)[] = [
    () => loop.stop(),
    () => rm(folder, { recursive: true, force: true }),
  ];
  try {
    if (!learning) await command(['learning', 'pause', '--data-folder', folder]);
    const bystander = startBystander(loop.url, startedAt);
    const client = new OpenAI({ baseURL: `${loop.url}/v1`, apiKey: 'none', maxRetries: 6 });
    const person = createPerson(client, seed);
    const points: Point[] = [];
    const reports: SessionReport[] = [];
    const kills: string[] = [];
    const evaluate = async (session: number) => {
      const version = watch.served();
      if (points.at(-1)?.version === version && learning) return;
      const point = { ...(await evaluateVersion(loop.url, version, seed)), session };
      points.push(point);
      print(
        `  session ${String(session).padStart(2)}  v${String(version).padEnd(3)} meets the taste ${percent(point.met)}` +
          `   lists ${percent(point.list)}  greetings ${percent(point.greeting)}  on topic ${percent(point.content)}   ${JSON.stringify(point.example.slice(0, 60))}`,
      );
    };
    await evaluate(0);
    for (let session = 1; session <= sessions; session++) {
      const victim = options.kill ? victimOf(session, sessions) : undefined;
      const chat = person.chat(session);
      if (victim !== undefined) {
        process.kill((await loop.pids())[victim]!, 'SIGKILL');
        kills.push(victim);
        print(`  session ${String(session).padStart(2)}  SIGKILL of ${victim}`);
      }
      reports.push(await chat);
      await watch.settle();
      if (learning || session === sessions) await evaluate(session);
    }
    const gaps: readonly Gap[] = await bystander.stop();
    await options.atEnd?.();
    const audit = await clawloop(['audit', '--data-folder', folder]);
    const replay = learning
      ? await clawloop(['replay', '--data-folder', folder, ...backend])
      : { code: 0, stdout: '', stderr: '' };
    return {
      seed,
      learning,
      points,
      sessions: reports,
      sessionsUntilThree: untilThreeInARow(reports),
      failures:
        reports.reduce((sum, { failures }) => sum + failures, 0) + gaps.filter(({ failed }) => failed).length,
      mixed: gaps.filter(({ versions }) => versions > 1).length,
      versions: new Set(watch.loadedVersions()).size,
      latency: latency(gaps, watch.steps(), watch.swaps()),
      audit: audit.code === 0 ? 'balances' : `${audit.stdout}${audit.stderr}`,
      replay: replay.code === 0 ? 'same digests' : `${replay.stdout}${replay.stderr}`,
      kills,
    };
  } finally {
    await watch.close();
    for (const close of closing) await close();
  }
}

async function command(argv: readonly string[]): Promise<void> {
  const { code, stderr } = await clawloop(argv);
  if (code !== 0) throw new Error(`clawloop ${argv.join(' ')}: ${stderr}`);
}

/** Each service once, spread over the middle of the run. */
function victimOf(session: number, sessions: number): string | undefined {
  const victims = ['serving', 'collector', 'judge', 'trainer'];
  const every = Math.max(1, Math.floor(sessions / (victims.length + 1)));
  return session % every === 0 ? victims[session / every - 1] : undefined;
}

export function untilThreeInARow(reports: readonly SessionReport[]): number | undefined {
  const index = reports.findIndex(
    (_, at) => at >= 2 && reports.slice(at - 2, at + 1).every((one) => one.firstReplyMet),
  );
  return index < 0 ? undefined : index + 1;
}
