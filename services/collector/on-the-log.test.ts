import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Topic } from '../../shared/events/define-event.ts';
import type { EventLog, SubjectView } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { rebuild } from '../../shared/log/rebuild.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { assistant, feedback, interaction, judgment, sessionEnded, user } from './testing/events.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const submitSettings: SubmitSettings = { size: 2, maxStaleness: 4, training };

async function openLog(): Promise<EventLog> {
  const folder = await mkdtemp(join(tmpdir(), 'collector-'));
  const log = await openSqliteLog({ folder, partitions: 2, sessionTimeoutMs: 2000 });
  onTestFinished(async () => {
    await log.close();
    await rm(folder, { recursive: true, force: true });
  });
  return log;
}

/** Runs the three folds until the topic has an event of this type, then stops them. */
async function foldUntil(
  log: EventLog,
  topic: Topic,
  { type, count }: { readonly type: ClawLoopEvent['type']; readonly count: number },
  turnDiscount = 1,
) {
  const stop = new AbortController();
  const rows = new Map<string, SubjectView>();
  const process = <Settings>(fold: Fold<Settings>, settings: Settings) =>
    log.process(
      fold,
      {
        group: fold.name,
        settings,
        owed: (views) => {
          for (const view of views) rows.set(`${fold.name} ${view.subject}`, view);
        },
      },
      stop.signal,
    );
  const works = [
    process(attribute, { turnDiscount }),
    process(assemble, { atLeastOne: true }),
    process(submit, submitSettings),
  ];
  const read: ClawLoopEvent[] = [];
  const reached = Promise.withResolvers<void>();
  const following = log.follow(
    topic,
    {},
    ({ event }) => {
      if (event.type === type) read.push(event);
      if (read.length === count) reached.resolve();
    },
    { signal: stop.signal },
  );
  await Promise.race([reached.promise, ...works]);
  stop.abort();
  await Promise.all([...works, following.done]);
  return { read, rows };
}

test('on the embedded log, chats become a batch, and a rebuild from zero gives the same rows', async () => {
  const log = await openLog();
  const chats = ['a', 'b', 'c'].flatMap((name) => [
    interaction({ id: `${name}1`, lane: name, messages: [user(`hi ${name}`)], answer: 'hello' }),
    interaction({
      id: `${name}2`,
      lane: name,
      answer: 'bye',
      messages: [user(`hi ${name}`), assistant('hello'), user('no lists, please')],
    }),
    sessionEnded({ id: `end ${name}`, lane: name }, `chat-${name}1`),
  ]);
  await log.append([...chats, ...chats.slice(0, 3)]); // at least once
  const turnEvents = await foldUntil(log, 'turns', { type: 'session.closed', count: 3 });
  expect(turnEvents.read.map(({ subject }) => subject).sort()).toEqual(['a', 'b', 'c']);

  await log.append(['a', 'b'].map((name) => judgment(`${name}1`, -1, { lane: name })));
  const { read, rows } = await foldUntil(log, 'training', { type: 'batch.submitted', count: 1 });
  const [batch] = read;
  if (batch?.type !== 'batch.submitted') throw new Error('no batch');
  const samples = await Promise.all(batch.data.samples.map(({ at }) => log.read('training', at)));
  expect(samples.map(({ id }) => id).sort()).toEqual(['a1/ready', 'b1/ready']);

  for (const fold of [attribute, assemble, submit] as const)
    for (const { subjects } of await rebuild(log, fold.name, fold as Fold<unknown>))
      for (const { subject, rows: again } of subjects)
        expect([...again.entries('')], `${fold.name} ${subject}`).toEqual([
          ...rows.get(`${fold.name} ${subject}`)!.rows.entries(''),
        ]);
});

test('returns use the discount in force at their time, also when replayed', async () => {
  const log = await openLog();
  const rewarded = (name: string) => [
    interaction({
      id: `${name}1`,
      lane: name,
      session: name,
      settle: 'reward',
      answer: 'hello',
      messages: [user('hi')],
    }),
    interaction({
      id: `${name}2`,
      lane: name,
      session: name,
      settle: 'reward',
      answer: 'bye',
      messages: [user('hi'), assistant('hello'), user('and?')],
    }),
    feedback({ id: `f-${name}`, lane: name }, `${name}2`, 1),
    sessionEnded({ id: `end ${name}`, lane: name }, name),
  ];
  await log.append(rewarded('a'));
  await foldUntil(log, 'turns', { type: 'session.closed', count: 1 }, 0.5);
  await log.append(rewarded('b'));
  const { read } = await foldUntil(log, 'turns', { type: 'turn.feedback', count: 4 }, 0.25);
  const emittedLines = (events: readonly ClawLoopEvent[]) =>
    events.flatMap(({ type, data }) => (type === 'turn.feedback' ? [[data.turnId, data.score]] : [])).sort();
  const returns = [
    ['a1', 0.5],
    ['a2', 1],
    ['b1', 0.25],
    ['b2', 1],
  ];
  expect(emittedLines(read)).toEqual(returns);
  const again = await rebuild(log, 'attribute', attribute as Fold<unknown>);
  expect(emittedLines(again.flatMap(({ emitted }) => emitted))).toEqual(returns);
});
