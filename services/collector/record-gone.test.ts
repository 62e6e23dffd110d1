import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import { submit } from './submit.ts';
import {
  feedback,
  interaction,
  judgment,
  sessionClosed,
  sessionEnded,
  turnCompleted,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';
import { goesOn, hi } from './testing/short-chat.ts';

/** Records that the log lost after they were folded, and the records of other chats in their places. */

const emittedLines = (events: readonly ClawLoopEvent[], stands: readonly (ClawLoopEvent | undefined)[]) =>
  runFold(attribute, events, {}, { records: stands }).emitted;
const first = interaction({ id: 'a', messages: hi, answer: 'hello' });
const second = interaction({ id: 'b', messages: goesOn('hello', 'thanks'), answer: 'welcome' });
const secret = interaction({
  id: 'x',
  lane: 'another',
  answer: 'noted',
  messages: [...hi, ...goesOn('My PIN is 4711', 'keep it')],
});

test('a turn whose record is lost is skipped, and no other record is judged instead', () => {
  const gone = [{ id: 'a/skipped', data: { reason: 'record-gone', rule: 'conversations/0/0', by: 'b' } }];
  expect(emittedLines([first, second], [undefined, second])).toMatchObject(gone);
  const emitted = emittedLines([first, second], [secret, second]);
  expect(emitted).toMatchObject(gone);
  expect(JSON.stringify(emitted)).not.toContain('PIN');
});

test('a turn is skipped if the record with its next state is lost', () => {
  const early = interaction({ id: 'b', messages: goesOn('hello', 'thanks'), answer: 'welcome' });
  const emitted = emittedLines([early, first], [secret, first]);
  expect(emitted.map(brief)).toEqual(['skipped a: record-gone']);
  expect(emitted).toMatchObject([{ data: { rule: 'conversations/0/0' } }]);
});

test('feedback on a lost turn and the end of its session are emitted as usual', () => {
  const events = [first, feedback({ id: 'f' }, 'a', 1), sessionEnded({ id: 'end' }, 'chat-a')];
  expect(emittedLines(events, [undefined]).map(brief)).toEqual([
    'skipped a: record-gone',
    'feedback a: 1',
    'closed chat-a',
  ]);
});

const assembled = (events: readonly ClawLoopEvent[], stands: readonly (ClawLoopEvent | undefined)[]) =>
  runFold(assemble, events, { atLeastOne: true }, { records: stands }).emitted;

test('a sample whose turn is lost is dropped, and no other turn takes its verdict', () => {
  const events = [turnCompleted('a'), judgment('a', 1)];
  const dropped = [{ id: 'a/dropped', data: { sampleId: 'a', reason: 'record-gone', rule: 'turns/0/0' } }];
  expect(assembled(events, [])).toMatchObject(dropped);
  expect(assembled(events, [turnCompleted('stranger')])).toMatchObject(dropped);
});

test('a batch does not wait for a lost sample of a rewarded session', () => {
  const turns = ['a', 'b', 'c'].map((id) => turnCompleted(id, 's', 'lane', 'reward'));
  const judged = ['a', 'b', 'c'].map((id) => judgment(id, 1, { source: 'reward' }));
  const samples = assembled([...turns, ...judged, sessionClosed()], [turns[0], turns[1]]);
  expect(samples.map(brief)).toEqual(['ready a: 1', 'ready b: 1', 'dropped c: record-gone']);
  const { settings: training } = defaultTrainingSettings('claw-nano');
  const { emitted } = runFold(submit, samples, { size: 2, maxStaleness: 2, training });
  expect(emitted.map(brief)).toEqual(['batch 1 on v0: a b']);
});
