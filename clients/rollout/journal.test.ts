import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openJournal, resumeFrom } from './journal.ts';
import type { Task } from './read-tasks.ts';

const tasks: readonly Task[] = [];
const N = 2;

test.each([0, 1, 7])(
  'a journal that ends in the middle of a line loses that entry and no other (%i)',
  (cut) => {
    const folder = mkdtempSync(join(tmpdir(), 'clawloop-journal-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const results = join(folder, 'results.jsonl');
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
