import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import type { SubmitSettings } from '../../../services/collector/fold-settings.ts';
import { submit } from '../../../services/collector/submit.ts';
import {
  assistant,
  interaction,
  sampleReady,
  user,
  verdictRecorded,
} from '../../../services/collector/testing/events.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { PolicyCanaryStarted } from '../../../shared/events/policy-canary-started.ts';
import { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import { PolicyTrained } from '../../../shared/events/policy-trained.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import { readTopic } from '../../contract/event-log-fixtures.ts';
import { until } from '../harness/clawloop.ts';
import { startService, untilReady } from '../wiring/service-process.ts';
import { describeWithBrowser, expectAccessible } from './browser.ts';

const adapter = 'default';
const training = { ...defaultTrainingSettings('claw-nano').settings, canaryShare: 0.2 };
const settings: SubmitSettings = {
  size: 1,
  maxStaleness: 4,
  training,
  watch: { alpha: 0.01, margin: 0, pauseAfter: 3 },
  canary: { alpha: 0.01, margin: 0.1, turns: 200, hours: 72 },
};
/** The times of facts are those of now, as a canary counts the sessions from its start on. */
const written = (id: string) => ({ id, source: 'clawloop/test', time: new Date().toISOString() });

/** A log on which the collector's fold runs, and where a trainer would write what the test says. */
function openStory(log: EventLog) {
  let made = 0;
  const training = async () => (await readTopic(log, 'training')).map(({ event }) => event);
  const batch = async (n: number) =>
    until(`batch ${n}`, async () =>
      (await training()).find(
        (event): event is Extract<ClawLoopEvent, { type: 'batch.submitted' }> =>
          event.type === 'batch.submitted' && event.data.n === n,
      ),
    );
  /** Trains version `n` from its parent. */
  const train = async (n: number, from: number) => {
    await log.append([sampleReady(`s${++made}`, `session ${made}`, from)]);
    const { batchId } = (await batch(n)).data;
    const data = { batchId, adapter, checkpoint: `c${n}`, digest: `d${n}` };
    const metrics = { meanKl: 0.0123, klToBase: 0.02 * n, canaryContent: 0.91, canaryDistinct: 1 };
    const more = { metrics, fingerprint: 'test', milliseconds: 900, version: n, parent: from };
    await log.append([
      PolicyTrained.create({ ...written(`${batchId}/trained`), data: { ...data, ...more } }),
    ]);
    return data;
  };
  return {
    training,
    promote: async (n: number, from: number) => {
      const data = { ...(await train(n, from)), from, to: n };
      await log.append([PolicyPromoted.create({ ...written(`${data.batchId}/promoted`), data })]);
    },
    startCanary: async (n: number, from: number) => {
      const data = { ...(await train(n, from)), from, to: n, share: 0.2 };
      await log.append([PolicyCanaryStarted.create({ ...written(`${data.batchId}/canary`), data })]);
    },
    verdicts: (version: number, good: number, bad: number) =>
      log.append(
        Array.from({ length: good + bad }, (_, n) =>
          verdictRecorded(`t${++made}`, version, n < good ? 1 : -1),
        ),
      ),
    chat: (id: string, version: number) =>
      log.append([
        interaction({
          id,
          lane: id,
          version,
          messages: [user('How do I clean a pan?')],
          answer: assistant('With salt.'),
          time: new Date().toISOString(),
        }),
      ]),
  };
}

const panel = (page: Page) => page.locator('#checks').innerText();

describeWithBrowser('how bad versions are stopped, on the page', (browser) => {
  test('nothing yet, then a rollback by verdicts, what is watched, a running canary, and the gate', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-checks-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 3 });
    const stop = new AbortController();
    const fold = log.process(submit, { group: 'submit', settings }, stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await fold;
      await log.close();
    });
    const story = openStory(log);
    await story.chat('first', 0);
    const service = startService('console', ['--data-folder', folder]);
    onTestFinished(async () => void (await service.stop()));
    const { page, errors } = await browser.open(`${await untilReady(service)}/#/learning`);

    await page.waitForSelector('#checks h3');
    expect(await panel(page)).toMatch(/Nothing to watch: the base model is live/);
    expect(await panel(page)).toMatch(/None yet\./);
    expect(await panel(page)).toMatch(/No candidate yet\./);

    await story.verdicts(0, 18, 6);
    await story.promote(1, 0);
    await story.verdicts(1, 6, 2);
    await page.waitForSelector('table:has-text("Since its promotion") tr:has-text("2 of 8 verdicts bad")');
    expect(await panel(page)).toContain('6 of 24 verdicts bad (25 %), from v0 on');
    await story.promote(2, 1);
    await story.verdicts(2, 0, 20);
    await until('it is rolled back', async () =>
      (await story.training()).some(({ type }) => type === 'policy.rolled-back'),
    );
    await page.waitForSelector('text=v2 rolled back to v1');
    const rolledBack = (await story.training()).find(({ type }) => type === 'policy.rolled-back')!;
    const { figures } = rolledBack.data as { figures: { turns: number; evidence: number } };
    expect(await panel(page)).toContain(`${figures.turns} of ${figures.turns} verdicts bad (100 %)`);
    expect(await panel(page)).toContain(`${Math.round(figures.evidence)} of 100`);

    await story.startCanary(3, 1);
    await story.chat('of the parent', 1);
    await story.chat('of the candidate', 3);
    await story.verdicts(1, 3, 1);
    await story.verdicts(3, 1, 2);
    await page.waitForSelector('tr:has-text("v3, candidate"):has-text("2 of 3 verdicts bad")');
    await page.waitForSelector('tr:has-text("v1, its parent"):has-text("1 of 4 verdicts bad")');
    expect(await panel(page)).toMatch(/v3 answers 20 % of the sessions since .*; v1 answers the others/);
    expect(await panel(page)).toContain('after 200 verdicts on v3, or after 72 hours');
    expect(await panel(page)).toMatch(/v2\s+rolled back by verdicts\s+0\.0123\s+0\.0400\s+91 %\s+100 %/);
    await expectAccessible(page, 'learning');
    await page.setViewportSize({ width: 360, height: 740 });
    // the chart follows the width
    await page.waitForFunction(() => document.documentElement.scrollWidth <= 360);
    expect(errors).toEqual([]);
  });
});
