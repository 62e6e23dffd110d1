import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { startService, untilReady } from '../wiring/service-process.ts';
import { describeWithBrowser } from './browser.ts';

/** Of Bull Board. */
const KEY = 'a key of the board';

describeWithBrowser('queues on Redis', (browser) => {
  withRedis('and the console', (redis) => {
    test('the page Flow shows their depth, and leads to Bull Board', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'clawloop-board-'));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const start = async (name: 'judge' | 'console', flags: readonly string[]) => {
        const service = startService(name, ['--data-folder', folder, '--queue', 'redis', ...flags]);
        onTestFinished(async () => void (await service.stop()));
        return untilReady(service);
      };
      const judge = await start('judge', ['--redis-url', redis().url, '--board-key', KEY]);
      const plain = await start('judge', ['--redis-url', redis().url]);
      const url = await start('console', ['--judge-url', judge, '--trainer-url', plain]);
      const httpCredentials = { username: 'anybody', password: KEY };
      const { page, errors } = await browser.open(`${url}/#/flow`, { httpCredentials });
      page.setDefaultTimeout(60_000);
      const row = (name: string) => page.locator(`tr:has(th:text-is("${name}"))`);
      await row('judge').locator('.badge.good').waitFor();
      // a queue without a board key has no board
      expect(await row('trainer').getByText('Bull Board').count()).toBe(0);
      expect(errors).toEqual([]);
      await row('judge').getByText('Bull Board').click();
      await page.getByText('votes').first().waitFor();
      expect(page.url()).toMatch(new RegExp(`^${judge}/board`));
    });
  });
});
