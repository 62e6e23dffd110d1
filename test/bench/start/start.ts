import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rollbackFact } from '../../../shared/lineage/operator-facts.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { appendTurns } from '../../e2e/console/many-turns.ts';
import { measureCommand, measureService, type Taken } from './measure.ts';

/** Measured, and how. */
const cases: readonly (readonly [name: string, measure: (folder: string) => Promise<Taken>])[] = [
  ['serving ready', (folder) => measureService('serving', folder)],
  ['console ready', (folder) => measureService('console', folder)],
  ['policy list', (folder) => measureCommand(['policy', 'list'], folder)],
  ['turns list -n 20', (folder) => measureCommand(['turns', 'list', '-n', '20'], folder)],
  ['sessions list', (folder) => measureCommand(['sessions', 'list'], folder)],
  ['audit', (folder) => measureCommand(['audit'], folder)],
  ['sessions export', (folder) => measureCommand(['sessions', 'export'], folder)],
];

/** A made-up turn has 4.7 events. */
const EVENTS_PER_TURN = 4.73;
/** Each lane has this many turns. */
const TURNS_PER_LANE = 40;

export const numbersOf = (text: string): readonly number[] => text.split(',').map(Number);

type Row = { readonly what: string; readonly events: number; readonly first: Taken; readonly next: Taken };

/**
 * Time from the start to ready, and memory, on embedded logs of several sizes. Each case runs twice on a log that no
 * program has read before.
 *
 * CLAWLOOP_START_EVENTS: sizes, default 0,10000,100000. CLAWLOOP_START_TOKENS: tokens of a prompt, default 40.
 * CLAWLOOP_START_CASES: words that choose cases. CLAWLOOP_START_FOLDER: keeps the logs there for another run.
 */
export async function benchStart(): Promise<readonly Row[]> {
  const sizes = numbersOf(process.env.CLAWLOOP_START_EVENTS ?? '0,10000,100000');
  const promptTokens = Number(process.env.CLAWLOOP_START_TOKENS ?? 40);
  const chosen = (process.env.CLAWLOOP_START_CASES ?? '').split(',');
  const kept = process.env.CLAWLOOP_START_FOLDER;
  const root = kept ?? (await mkdtemp(join(tmpdir(), 'clawloop-start-')));
  const rows: Row[] = [];
  try {
    for (const events of sizes) {
      const folder = join(root, `${events}-${promptTokens}`);
      await fillLog(folder, events, promptTokens);
      for (const [what, measure] of cases.filter(([name]) => chosen.some((word) => name.includes(word)))) {
        const row = { what, events, first: await measure(folder), next: await measure(folder) };
        console.log(asText(row));
        rows.push(row);
      }
    }
  } finally {
    if (kept === undefined) await rm(root, { recursive: true, force: true });
  }
  return rows;
}

/** Appends made-up turns. @returns the number of events */
export async function appendEvents(log: EventLog, events: number, promptTokens: number): Promise<number> {
  const turns = 10 * Math.round(events / EVENTS_PER_TURN / 10); // a log of whole tens balances
  await appendTurns(log, turns, { promptTokens, lanes: Math.max(1, Math.ceil(turns / TURNS_PER_LANE)) });
  // made-up versions have no checkpoints, so the head must be the base
  const head = Math.floor((turns + 1) / 100);
  if (head > 0) await log.append([rollbackFact({ adapter: 'default', from: head, to: 0 }, 'clawloop/test')]);
  const ends = await Promise.all((['conversations', 'turns', 'training'] as const).map(log.ends));
  const count = ends.flat().reduce((sum, end) => sum + end, 0);
  return count;
}

/** Writes a log of made-up turns, unless the folder is there. */
export async function fillLog(folder: string, events: number, promptTokens: number): Promise<void> {
  if (existsSync(folder)) return;
  const began = performance.now();
  const log = await openSqliteLog({ folder: join(folder, 'log') });
  const count = await appendEvents(log, events, promptTokens);
  await log.close();
  console.log(
    `filled ${folder} with ${count} events in ${Math.round((performance.now() - began) / 1_000)} s`,
  );
}

const asText = ({ what, events, first, next }: Row): string =>
  `| ${[what, events, ...figures(first), ...figures(next)].join(' | ')} |`;

const figures = ({ seconds, processorSeconds, peakMib }: Taken): readonly string[] => [
  seconds.toFixed(1),
  processorSeconds.toFixed(1),
  String(Math.round(peakMib)),
];
