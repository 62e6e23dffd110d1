import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assistant, interaction, user } from '../../services/collector/testing/events.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { barOf, type Done, openBar } from '../../shared/runtime/progress-bar.ts';
import { formatTable } from '../../shared/runtime/table.ts';
import { until } from '../e2e/harness/clawloop.ts';
import { startService, untilReady } from '../e2e/wiring/service-process.ts';
import { usageOf } from './start/measure.ts';

/** Answers per conversation. The last one waits for a reaction. */
const ANSWERS = 6;
/** Conversations that are appended at once. */
const CHUNK = 100;
const KEYS = 50;
/** ms until a run counts as failed */
const LONGEST_MS = 3_600_000;

const reactions = [
  'Thanks, that helps.',
  'No lists, please.',
  'And for two people?',
  'Too long.',
  'Perfect!',
];

/**
 * Collector and judge start on a log with recorded answers that neither has read, as after an outage. Prints the time
 * until each turn has its judgment, and what it costs. If the work is linear, the time per turn is the same for all
 * sizes.
 *
 * CLAWLOOP_BACKLOG_TURNS: sizes, default 1000,5000.
 */
export async function benchBacklog(): Promise<void> {
  const sizes = (process.env.CLAWLOOP_BACKLOG_TURNS ?? '1000,5000').split(',').map(Number);
  const rows: string[][] = [];
  for (const turns of sizes) rows.push(await workOff(turns));
  const columns = ['turns', 'seconds', 'ms per turn', 'turns/s'];
  const costs = ['collector, ms', 'judge, ms', 'collector, MiB', 'judge, MiB'];
  console.log(formatTable([...columns, ...costs], rows));
}

async function workOff(turns: number): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-backlog-'));
  const log = await openSqliteLog({ folder: join(folder, 'log') });
  const stop = new AbortController();
  const bar = openBar(process.stderr, (done: Done) => `${barOf(done)} of ${turns} turns`);
  const counts = { completed: 0, judged: 0 };
  try {
    await fill(log, turns);
    const following = log.follow('turns', {}, () => {}, {
      signal: stop.signal,
      wants: ({ type }) => {
        if (type === 'turn.completed') counts.completed += 1;
        if (type === 'judgment.reached') counts.judged += 1;
        return false;
      },
    });
    const began = performance.now();
    const services = (['collector', 'judge'] as const).map((name) =>
      startService(name, ['--data-folder', folder]),
    );
    try {
      await Promise.all(services.map(untilReady));
      await until(
        'every turn is judged',
        () => {
          bar.on({ done: Math.min(counts.judged, turns), total: turns });
          return counts.judged >= turns && counts.judged === counts.completed;
        },
        LONGEST_MS,
      );
      const seconds = (performance.now() - began) / 1_000;
      const used = await Promise.all(services.map(({ pid }) => usageOf(pid)));
      return [
        String(counts.judged),
        seconds.toFixed(0),
        ((seconds * 1_000) / counts.judged).toFixed(2),
        (counts.judged / seconds).toFixed(0),
        ...used.map(({ processorSeconds }) => ((processorSeconds * 1_000) / counts.judged).toFixed(2)),
        ...used.map(({ peakMib }) => peakMib.toFixed(0)),
      ];
    } finally {
      await Promise.all(services.map((service) => service.stop()));
      stop.abort();
      await following.done;
    }
  } finally {
    bar.end();
    await log.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Appends conversations of many people, which the reactions complete to this number of turns. */
async function fill(log: EventLog, turns: number): Promise<void> {
  const conversations = Math.ceil(turns / (ANSWERS - 1));
  for (let from = 0; from < conversations; from += CHUNK) {
    const count = Math.min(CHUNK, conversations - from);
    await log.append(Array.from({ length: count }, (_, index) => conversation(from + index)).flat());
  }
}

function conversation(n: number) {
  const time = new Date().toISOString();
  const [lane, key] = [(n % 997).toString(16).padStart(12, '0'), `key-${n % KEYS}`];
  let messages: readonly ChatMessage[] = [user(`How do I pack for trip ${n}?`)];
  return Array.from({ length: ANSWERS }, (_, turn) => {
    const answer = `For trip ${n}, part ${turn}: take the map, the tent and the stove. `.repeat(3);
    const event = interaction({ id: `chatcmpl-${n}-${turn}`, lane, key, messages, answer, time });
    messages = [...messages, assistant(answer), user(reactions[(n + turn) % reactions.length]!)];
    return event;
  });
}
