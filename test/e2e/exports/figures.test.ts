import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { copyFigures, exportFigures } from '../../../clients/export/figures/export-figures.ts';
import { eventFile } from '../../../clients/export/figures/tensorboard.ts';
import { collectRuns, type TrainingRun } from '../../../clients/export/figures/training-figures.ts';
import { offlineRun, runId } from '../../../clients/export/figures/wandb.ts';
import { CliConfig } from '../../../shared/config/cli.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { STORY_START, trainingStory } from './training-story.ts';

test('each outcome is one row: the figures of its step, of the gate, and of its samples', () => {
  const collected = collectRuns();
  const outcomes = trainingStory().filter((event) => collected.on(event));
  expect(outcomes.map(({ type }) => type)).toEqual([
    'policy.promoted',
    'policy.rejected',
    'policy.update-failed',
  ]);
  const [run] = collected.runs();
  expect([run!.adapter, run!.start]).toEqual(['default', STORY_START + 60_000]);
  const batch = { 'batch/samples': 3, 'batch/good': 2, 'batch/bad': 1, 'batch/good_share': 2 / 3 };
  const step = { 'step/klToBase': 0.0125, 'step/seconds': 1.5 };
  expect(run!.rows).toEqual([
    {
      step: 1,
      time: STORY_START + 90_000,
      figures: { ...step, 'step/loss': 0.5, 'gate/promoted': 1, ...batch, 'batch/parent': 0 },
    },
    {
      step: 2,
      time: STORY_START + 150_000,
      figures: {
        ...step,
        'step/loss': 0.25,
        'gate/promoted': 0,
        'gate/contentLoss': 0.75,
        ...batch,
        'batch/parent': 1,
      },
    },
    { step: 3, time: STORY_START + 210_000, figures: { 'gate/promoted': 0, ...batch, 'batch/parent': 1 } },
  ]);
});

test('an event that is in the log twice counts once', () => {
  const collected = collectRuns();
  for (const event of trainingStory()) for (const copy of [event, event]) collected.on(copy);
  expect(collected.runs()[0]!.rows.map(({ step, figures }) => [step, figures['batch/good']])).toEqual([
    [1, 2],
    [2, 2],
    [3, 2],
  ]);
});

test("both styles: later steps are appended to their adapter's file, also with --follow", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-figures-'));
  const log = await openSqliteLog({ folder, partitions: 1, sessionTimeoutMs: 2000 });
  onTestFinished(async () => {
    await log.close();
    await rm(folder, { recursive: true, force: true });
  });
  const into = join(folder, 'runs');
  const copy = (style: string, follow = false, stop = new AbortController()) =>
    copyFigures(log, { style, into, follow, stop });
  const files = async (style: string) => {
    const wanted = style === 'wandb' ? /\.wandb$/ : /tfevents/;
    const names = (await readdir(into, { recursive: true })).filter((name) => wanted.test(name));
    return Promise.all(
      names.sort().map(async (name) => ({ name, content: await readFile(join(into, name)) })),
    );
  };
  const story: readonly ClawLoopEvent[] = [...trainingStory(), ...trainingStory('bob')];
  const isFirst = (_: unknown, index: number) => index % (story.length / 2) < 6; // the first step of each adapter
  await log.append(story.filter(isFirst));

  const stops = (['tensorboard', 'wandb'] as const).map((style) => {
    const stop = new AbortController();
    return { style, stop, done: copy(style, true, stop) };
  });
  const before = new Map<string, Awaited<ReturnType<typeof files>>>();
  for (const { style } of stops) {
    await expect.poll(async () => (await files(style).catch(() => [])).length, { timeout: 30_000 }).toBe(2);
    before.set(style, await files(style));
  }
  await log.append(story.filter((...at) => !isFirst(at[0], at[1])));
  const collected = collectRuns();
  for (const event of story) collected.on(event);
  const whole = {
    tensorboard: (run: TrainingRun) => eventFile(run),
    wandb: (run: TrainingRun) => offlineRun(run, runId(log.logId, run.adapter), false),
  };
  for (const { style, stop, done } of stops) {
    const expected = collected.runs().map((run) => Buffer.from(whole[style](run)).toString('base64'));
    const grown = async () => (await files(style)).map(({ content }) => content.toString('base64'));
    await expect.poll(async () => (await grown()).sort(), { timeout: 30_000 }).toEqual(expected.sort());
    stop.abort();
    expect(await done).toBe(0);
    const after = await files(style);
    expect(after.map(({ name }) => name)).toEqual(before.get(style)!.map(({ name }) => name));
    for (const [index, { content }] of after.entries()) {
      const earlier = before.get(style)![index]!.content;
      expect(content.subarray(0, earlier.length).equals(earlier)).toBe(true);
    }
    expect(await copy(style)).toBe(0); // adds nothing but the end of a complete W&B run
    const lengths = (await files(style)).map(
      ({ content }, index) => content.length - after[index]!.content.length,
    );
    expect(lengths).toEqual(style === 'wandb' ? [17, 17] : [0, 0]);
  }
});

test.each([
  [{ into: 'x' }, /give --style, one of tensorboard, wandb/],
  [{ style: 'csv', into: 'x' }, /not 'csv'/],
  [{ style: 'wandb' }, /give --into FOLDER/],
])('%j is refused', async (flags, message) => {
  const settings = CliConfig.parse({});
  await expect(exportFigures(settings, flags)).rejects.toThrow(message);
});
