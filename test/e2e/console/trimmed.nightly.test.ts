import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { assistant, interaction, user } from '../../../services/collector/testing/events.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { readTrims } from '../../../shared/retention/read-trims.ts';
import { trimLog } from '../../../shared/retention/trim-log.ts';
import { until } from '../harness/clawloop.ts';
import { startService, untilReady } from '../wiring/service-process.ts';
import { describeWithBrowser, expectAccessible } from './browser.ts';

const chat = (id: string) =>
  interaction({ id, lane: id, messages: [user('How do I clean a pan?')], answer: assistant('With salt.') });

describeWithBrowser('the console after a trim', (browser) => {
  test('the lists of turns and sessions say from which time on they are whole', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-trimmed-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 1 });
    const stop = new AbortController();
    const fold = log.process(
      { name: 'n', reads: 'conversations', writes: 'turns', on: () => ({ changes: [], emit: [] }) },
      { group: 'attribute', settings: null },
      stop.signal,
    );
    onTestFinished(async () => {
      stop.abort();
      await fold;
      await log.close();
    });
    for (const id of ['gone', 'kept']) await log.append([chat(id)]);
    await until('both are read', async () => (await log.lag('attribute'))[0]?.position === 2);
    const open = startService('console', ['--data-folder', folder, '--partitions', '1']);
    onTestFinished(async () => void (await open.stop()));
    const shown = await browser.open(`${await untilReady(open)}/#/turns`);
    const isShown = async (count: number) => (await shown.page.locator('.turn').count()) === count;
    await until('both are shown', () => isShown(2));

    const options = { keepBytes: '', source: 'clawloop/cli' as const, now: Date.now() + 1_000 };
    await trimLog(log, { ...options, keep: '0s' });
    const [trim] = await readTrims(log);
    await until('the page that was open drops the removed turn', () => isShown(1));
    expect(shown.errors).toEqual([]);
    await open.stop();

    const service = startService('console', ['--data-folder', folder, '--partitions', '1']);
    onTestFinished(async () => void (await service.stop()));
    const { page, errors } = await browser.open(`${await untilReady(service)}/#/turns`);
    for (const name of ['turns', 'people', 'learning']) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `#/${name}`);
      const note = page.locator('[data-test=trimmed]');
      await note.waitFor();
      expect(await note.innerText()).toMatch(/Records of conversations before .* were removed/);
      expect(await note.locator('time').getAttribute('datetime')).toBe(trim!.data.before);
      await expectAccessible(page, name);
    }
    expect(errors).toEqual([]);
  });
});
