import { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import { assemble } from '../../services/collector/assemble.ts';
import { attribute } from '../../services/collector/attribute.ts';
import { submit } from '../../services/collector/submit.ts';
import {
  assistant,
  feedback,
  interaction,
  sessionEnded,
  user,
} from '../../services/collector/testing/events.ts';
import { judgeFold } from '../../services/judge/judge-fold.ts';
import type { Topic } from '../../shared/events/define-event.ts';
import { VoteCast } from '../../shared/events/vote-cast.ts';
import { headFold } from '../../shared/lineage/head-fold.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { until } from '../e2e/harness/clawloop.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');

/** The folds of all services, in their groups. */
export const folds: readonly (readonly [group: string, fold: Fold<unknown>, settings: unknown])[] = [
  ['attribute', attribute as Fold<unknown>, { turnDiscount: 1 }],
  ['assemble', assemble as Fold<unknown>, { atLeastOne: true }],
  ['submit', submit as Fold<unknown>, { size: 2, maxStaleness: 4, training }],
  ['judge', judgeFold as Fold<unknown>, { votes: 1 }],
  ['trainer', headFold, undefined],
];

/**
 * Chats of three lanes, judged by feedback and by votes, folded as the services fold them, without processes.
 * The turns `a1`, `b1` and `c1` have verdicts. The vote `c2/vote/0` cannot be read, and is set aside.
 */
export async function makeSmallLog(folder: string): Promise<void> {
  const log = await openSqliteLog({ folder, partitions: 2, sessionTimeoutMs: 2_000 });
  const stop = new AbortController();
  const works = folds.map(([group, fold, settings]) => log.process(fold, { group, settings }, stop.signal));
  const settled = () => Promise.race([untilLevel(log), ...works]);
  try {
    await log.append(
      ['a', 'b', 'c'].flatMap((name) => [
        interaction({ id: `${name}1`, lane: name, messages: [user(`hi ${name}`)], answer: 'hello' }),
        interaction({
          id: `${name}2`,
          lane: name,
          answer: 'bye',
          messages: [user(`hi ${name}`), assistant('hello'), user('no lists, please')],
        }),
        ...(name === 'c' ? [] : [sessionEnded({ id: `end ${name}`, lane: name }, `chat-${name}1`)]),
      ]),
    );
    await settled();
    await log.append([feedback({ id: 'f', lane: 'a' }, 'a1', -1, { comment: 'too long' })]);
    await log.append(['b', 'c'].map((name) => vote(`${name}1`, name)));
    await log.append([unreadable(vote('c2', 'c'))]);
    await settled();
  } finally {
    stop.abort();
    await Promise.all(works);
    await log.close();
  }
}

const cost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };
const vote = (turnId: string, lane: string): VoteCast =>
  VoteCast.create({
    id: `${turnId}/vote/0`,
    source: 'clawloop/judge',
    time: '2026-01-01T01:00:00.000Z',
    data: { turnId, lane, index: 0, vote: 1, text: 'good', judge: 'signals', cost },
  });

/** As another version might write it: a field is missing. */
const unreadable = (event: VoteCast): VoteCast =>
  JSON.parse(JSON.stringify(event).replace('"milliseconds":0', '"none":0')) as VoteCast;

/** Each group has read what the groups before it wrote. */
async function untilLevel(log: EventLog): Promise<void> {
  const positions = async () => (await Promise.all(folds.map(([group]) => log.lag(group)))).flat();
  await until('all groups have read everything', async () => {
    const before = await positions();
    const after = await positions();
    const isLevel = after.length === 2 * folds.length && after.every(({ position, end }) => position === end);
    return isLevel && JSON.stringify(before) === JSON.stringify(after);
  });
}

/** Changes the record of an event in the file, or removes it, as somebody could who can write to the disk. */
export function tamper(
  folder: string,
  topic: Topic,
  id: string,
  change: (body: string) => string | undefined,
): void {
  const db = new DatabaseSync(`${folder}/log.sqlite`, { timeout: 10_000 });
  try {
    const rows = db
      .prepare(
        'SELECT k, body FROM records WHERE k / 281474976710656 = (SELECT id FROM topics WHERE name = ?)',
      )
      .all(topic);
    for (const { k, body: stored } of rows) {
      const body = typeof stored === 'string' ? stored : zstdDecompressSync(stored as Uint8Array).toString();
      if ((JSON.parse(body) as { readonly id: string }).id !== id) continue;
      const changed = change(body);
      if (changed === undefined) db.prepare('DELETE FROM records WHERE k = ?').run(k!);
      else db.prepare('UPDATE records SET body = ? WHERE k = ?').run(changed, k!);
      return;
    }
    throw new Error(`no ${id} in ${topic}`);
  } finally {
    db.close();
  }
}
