import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { until } from '../harness/clawloop.ts';
import { startService, untilReady } from '../wiring/service-process.ts';
import { describeWithBrowser } from './browser.ts';
import { appendTurns } from './many-turns.ts';

const TURNS = 100_000;
/** ms until the first turn is painted */
const FIRST_PAINT_MS = 1_000;
/** Loads of each page; the fastest counts, since other programs may need the processor. */
const LOADS = 3;

describeWithBrowser('the console with 100,000 turns', (browser) => {
  test('paints the newest turns within a second, and scrolls through them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-many-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 3 });
    await appendTurns(log, TURNS);
    await log.close();
    const began = performance.now();
    const service = startService('console', ['--data-folder', folder]);
    onTestFinished(async () => void (await service.stop()));
    const url = await untilReady(service);
    console.log(`read ${TURNS} turns in ${Math.round((performance.now() - began) / 1000)} s`);
    const { memory } = await figures(url);
    console.log(`${Math.round(memory / 2 ** 20)} MiB in memory`);

    const { page, errors } = await browser.open('about:blank');
    const times: number[] = [];
    for (const address of [
      `${url}/#/turns`,
      `${url}/#/learning`,
      `${url}/#/turns?words=number+${TURNS - 10}`,
    ]) {
      const loads: number[] = [];
      for (let load = 0; load < LOADS; load++) {
        await page.goto('about:blank');
        const start = performance.now();
        await page.goto(address);
        await page.waitForSelector('.turn, #shares canvas');
        loads.push(performance.now() - start);
      }
      times.push(Math.min(...loads));
    }
    console.log(`first paint: ${times.map((ms) => `${Math.round(ms)} ms`).join(', ')}`);
    expect(Math.max(...times)).toBeLessThan(FIRST_PAINT_MS);
    expect(await page.locator('.turn').count()).toBe(1);

    await page.goto('about:blank');
    await page.goto(`${url}/#/turns`);
    await page.waitForSelector('.turn');
    const frames = await page.evaluate(async () => {
      const gaps: number[] = [];
      let last = performance.now();
      const end = last + 5_000;
      while (performance.now() < end) {
        scrollBy(0, 200);
        await new Promise(requestAnimationFrame);
        gaps.push(performance.now() - last);
        last = performance.now();
      }
      return gaps.sort((a, b) => a - b);
    });
    const at = (share: number) => Math.round(frames[Math.floor(share * (frames.length - 1))]!);
    console.log(`frames while scrolling: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`);
    await until('older turns are loaded', async () => {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      return (await page.locator('.turn').count()) > 500;
    });
    expect(await page.locator('.turn').count()).toBeLessThanOrEqual(1_000);
    expect(errors).toEqual([]);
  });
});

async function figures(url: string): Promise<{ readonly memory: number }> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return { memory: Number(/^process_resident_memory_bytes\S* (\S+)/m.exec(text)?.[1]) };
}
