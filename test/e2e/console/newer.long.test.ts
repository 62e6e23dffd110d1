import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { assistant, interaction, user } from '../../../services/collector/testing/events.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { until } from '../harness/clawloop.ts';
import { makeNextRelease } from '../replicas/next-release.ts';
import { startService, untilReady } from '../wiring/service-process.ts';
import { describeWithBrowser, expectAccessible } from './browser.ts';

const chat = (id: string) =>
  interaction({ id, lane: id, messages: [user('How do I clean a pan?')], answer: assistant('With salt.') });
const next = InteractionCompleted.version + 1;
/** As the next release writes it. */
const newer = (event: ClawLoopEvent): ClawLoopEvent => ({
  ...event,
  dataschema: `clawloop:interaction.completed:${next}`,
});

describeWithBrowser('a console that is older than the log', (browser) => {
  test('it says which record it cannot read and serves the rest; the next release shows everything', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-newer-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 1 });
    onTestFinished(log.close);
    const flags = ['--data-folder', folder, '--partitions', '1', '--refresh-ms', '50'];
    const older = startService('console', flags);
    onTestFinished(async () => void (await older.stop()));
    const url = await untilReady(older);
    await log.append([chat('before')]);
    const { page, errors } = await browser.open(`${url}/#/turns`);
    await page.waitForSelector('.turn a');
    await log.append([newer(chat('after'))]);
    const banner = page.locator('[data-test=stopped]');
    await banner.waitFor();
    expect(await banner.innerText()).toContain(
      `Partition 0 of conversations stopped at offset 1: interaction.completed has version ${next}, and this console knows ${next - 1}.`,
    );
    expect(await page.locator('.turn').count()).toBe(1);
    await expectAccessible(page, 'a partition that has stopped');
    const readiness = await fetch(`${url}/readyz`);
    expect(readiness.status).toBe(503);
    expect(await readiness.text()).toContain('partition 0 of conversations has stopped');
    expect((await fetch(`${url}/api/records/conversations/0/1`)).status).toBe(409);
    expect((await older.stop()).code).toBe(0);
    expect(errors).toEqual([]);

    const release = await makeNextRelease();
    onTestFinished(release.remove);
    const updated = startService('console', flags, { root: release.root });
    onTestFinished(async () => void (await updated.stop()));
    const place = await untilReady(updated);
    await until('both turns', async () => {
      const { turns } = (await (await fetch(`${place}/api/turns`)).json()) as { turns: unknown[] };
      return turns.length === 2;
    });
  });
});
