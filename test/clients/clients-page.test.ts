import { expect, test } from 'vitest';
import { checkNames, checks } from './checks.ts';
import { clientsBlocks } from './clients-page.ts';
import { clientsNamed } from './drivers/all.ts';
import type { Observed, Turn } from './observe.ts';
import { answers, CALLING, type Step, said } from './steps.ts';

const turn = (turnId: string, reaction: string, more: Partial<Turn> = {}): Turn => ({
  turnId,
  session: 's',
  rule: 'conversation',
  answered: 'a',
  reaction,
  score: 0,
  stage: { kind: 'waiting-for-batch' },
  ...more,
});
const spoken = (step: Step, at: Turn, text: string = answers[step]) => ({
  reply: { kind: 'conversation' as const, step, text },
  turn: at,
});

/** A run that passes all checks, by a program that also requested a title. */
const good: Observed = {
  client: {},
  played: { shown: answers, compacted: false, failure: undefined },
  exchanges: [{ method: 'POST', path: '/v1/chat/completions', status: 200, error: undefined }],
  replies: [
    { reply: { kind: 'title', step: undefined, text: 't' }, turn: turn('0', '', side('title')) },
    spoken('question', turn('1', said.tool)),
    spoken('tool', turn('2', ''), CALLING),
    spoken('tool', turn('3', said.correction, { score: -1 })),
    spoken('correction', turn('4', said.praise, { score: 1 })),
    spoken('praise', turn('5', said.compacted)),
    spoken('compacted', turn('6', said.resumed)),
    spoken('resumed', turn('7', said.stopped)),
    spoken('stopped', turn('8', '', { stage: { kind: 'not-trained', reason: 'aborted' } })),
    spoken('again', turn('9', '', { stage: { kind: 'waiting-for-next-state' } })),
  ],
  session: '0 1 2 3 4 5 6 7 8 9',
  audit: 'the log balances',
};

function side(rule: string): Partial<Turn> {
  return { rule, stage: { kind: 'not-trained', reason: 'side' } };
}

const failing = (seen: Observed) => checkNames.filter((name) => checks[name](seen).length > 0);

test('a run that passes all checks has no problem', () => {
  expect(failing(good)).toEqual([]);
});

test('a program that never got an answer fails each check of answers', () => {
  const error = { method: 'POST', path: '/v1/responses', status: 400, error: 'no such field' };
  const played = { shown: {}, compacted: false, failure: 'question: no such field' };
  const silent = { ...good, played, exchanges: [error], replies: [], session: '' };
  const [needNone, ...more] = checkNames.filter((name) => checks[name](silent).length === 0);
  expect([needNone, ...more]).toEqual(["the program's own requests are side requests", 'the audit balances']);
});

test.each([
  ['the turns of the conversation are main, and the next words follow them', side('other-system')],
  ['it is one session', { session: 'other' }],
  ["the next state of an answer contains only the person's words", { reaction: `${said.resumed} <date>` }],
] as const)('%s: a single wrong turn fails the check', (name, change) => {
  const replies = good.replies.map((one) =>
    one.reply.step === 'compacted' ? { ...one, turn: { ...one.turn!, ...change } } : one,
  );
  expect(failing({ ...good, replies })).toEqual([name]);
});

test('the page has one row for each run, and names the failed checks', () => {
  const [first] = clientsNamed('codex');
  const { 'programs tried': page = '' } = clientsBlocks([
    { client: first!, seen: good, failed: ['it is one session'] },
  ]);
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  expect(rows).toHaveLength(2);
  expect(rows[1]).toContain(`| ${first!.package.version} | Responses |`);
  expect(rows[1]).toContain('| title | 7 of 9 |');
  expect(rows[1]).toContain('not so: it is one session');
});
