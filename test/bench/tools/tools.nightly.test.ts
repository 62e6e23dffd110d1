import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { routingTools } from '../../../examples/tool-routing/tools.ts';
import { calls } from './calls.ts';
import { drawLearning } from './plot.ts';
import { writeLearningReport } from './report.ts';
import { routing } from './routing.ts';
import { splitQuestions } from './routing-questions.ts';
import { runSeed } from './run-seed.ts';

const small = {
  seed: 1,
  learning: true,
  rounds: 1,
  questions: 10,
  n: 8,
  print: (line: string) => console.log(line),
};

test('each question is answered by its own tool and no other, and held-out questions do not train', () => {
  const { training, heldOut } = splitQuestions(1);
  const ids = new Set(training.map(({ id }) => id));
  expect(heldOut.filter(({ id }) => ids.has(id))).toEqual([]);
  expect([training.length, heldOut.length]).toEqual([80, 40]);
  for (const { question, tool } of [...training, ...heldOut]) {
    const answering = routingTools.filter(({ answer }) => answer(question) !== undefined);
    expect([question, answering.map(({ name }) => name)]).toEqual([question, [tool]]);
  }
});

test('the model calls the offered tools, reads the results and answers; the attempts train', async () => {
  const { training, heldOut } = calls.split(1);
  const asked = new Set(training.map(({ question }) => question));
  expect(heldOut.filter(({ question }) => asked.has(question))).toEqual([]);
  const report = await runSeed(calls, { ...small, questions: 6 });
  const [before, after] = report.points;
  expect(before!.heldOut).toBeGreaterThan(0);
  expect(after!.attempts).toBe(48);
  expect(after!.version).toBeGreaterThan(0);
  expect(report.audit).toBe('balances');
});

test('attempts with real MCP tools are rewarded, compared and trained, and the audit balances', async () => {
  const report = await runSeed(routing, small);
  const [before, after] = report.points;
  expect(before).toMatchObject({ attempts: 0, version: 0 });
  // The test does not check which answers are right, because a few attempts teach little.
  expect(after!.attempts).toBe(80);
  expect(after!.version).toBeGreaterThan(0);
  expect(report.audit).toBe('balances');

  const folder = await mkdtemp(join(tmpdir(), 'clawloop-routing-report-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const page = join(folder, 'page.md');
  await writeFile(page, '<!-- measured: written by npm run bench:routing -->\nold\n<!-- /measured -->\n');
  await writeLearningReport(page, 'routing', [report]);
  expect(await readFile(page, 'utf8')).toMatch(/\| 1 \| with learning \| \d+ % \| \d+ % \| \d+ \|/);
  expect(drawLearning(routing.measured, [report])).toContain('<path d="M56.0');
});
