import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openJournal, resumeFrom } from './journal.ts';
import type { Task } from './read-tasks.ts';

const tasks: readonly Task[] = [];
const N = 2;

/** The path of results in a new folder. */
function resultsIn(): string {
  const folder = mkdtempSync(join(tmpdir(), 'clawloop-journal-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'results.jsonl');
}

const lineOf = (outcome: string, attempt: number) => ({
  index: 0,
  attempt,
  outcome,
  reward: outcome === 'rewarded' ? 0.5 : null,
  session: `s${attempt}`,
});

test.each([0, 1, 7])(
  'a journal that ends in the middle of a line loses that entry and no other (%i)',
  (cut) => {
    const results = resultsIn();
    const journal = `${results}.journal`;
    const first = openJournal(results, tasks, N);
    first.opened('before');
    first.opened('torn');
    const whole = readFileSync(journal, 'utf8');
    writeFileSync(journal, whole.slice(0, whole.length - cut));

    expect(resumeFrom(results, tasks, N).toDiscard).toEqual(cut > 1 ? ['before'] : ['before', 'torn']);
    openJournal(results, tasks, N).opened('after');
    expect(resumeFrom(results, tasks, N).toDiscard).toEqual(
      cut > 1 ? ['before', 'after'] : ['before', 'torn', 'after'],
    );
  },
);

test.each([
  ['rewarded', 'agent-threw', [0]],
  ['agent-threw', 'agent-threw', [0]],
  ['interrupted', 'agent-threw', []],
  ['server-silent', 'agent-threw', []],
  ['server-silent', 'server-silent', []],
])('a task that ended with %s and %s: finished tasks %j', (first, second, finished) => {
  const results = resultsIn();
  openJournal(results, tasks, N).opened('s0');
  const lines = [first, second].map((outcome, attempt) => lineOf(outcome, attempt));
  writeFileSync(results, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const left = resumeFrom(results, tasks, N);
  expect([...left.finished]).toEqual(finished);
  expect(left.toDiscard).toEqual(finished.length === 0 ? ['s0'] : []);
  expect(readFileSync(results, 'utf8').split('\n').length - 1).toBe(finished.length * N);
});

test('a task whose rewards are sent is not repeated, even if the server was silent to another attempt', () => {
  const results = resultsIn();
  const lines = [lineOf('rewarded', 0), lineOf('server-silent', 1)];
  openJournal(results, tasks, N);
  appendFileSync(`${results}.journal`, `${JSON.stringify({ ending: 0, lines })}\n`);
  const left = resumeFrom(results, tasks, N);
  expect([...left.finished]).toEqual([0]);
  expect(left.toEnd).toEqual(['s0']);
});
