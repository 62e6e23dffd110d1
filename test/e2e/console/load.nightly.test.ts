import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import type { Browser } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { findBrowser } from '../../../clients/environments/miniwob/browser.ts';
import { until } from '../harness/clawloop.ts';
import { loopOnFolder } from '../harness/loop-on-folder.ts';
import { startService, untilReady } from '../wiring/service-process.ts';
import { describeWithBrowser } from './browser.ts';
import { startWithConsole } from './start-console.ts';

const CHATS = 200;
const PAGES = 10;
/** each measures all three ways */
const ROUNDS = 6;
const KILLS = 20;

/** Who follows the console meanwhile. `not`: the console is stopped, too. */
type Watched = 'not' | 'by readers' | 'in a browser';
const orders: readonly (readonly Watched[])[] = [
  ['not', 'by readers', 'in a browser'],
  ['in a browser', 'not', 'by readers'],
  ['by readers', 'in a browser', 'not'],
];
const inTurn = (round: number) => orders[round % orders.length]!;

const at = (values: readonly number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))]!;

/** Of the console so far. */
async function processorSeconds(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total\S* (\S+)/m.exec(text)?.[1]);
}

async function turnsRead(url: string): Promise<number> {
  const { turns } = (await (await fetch(`${url}/api/overview`)).json()) as { turns: number };
  return turns;
}

describeWithBrowser('the console beside many chats', () => {
  const on = loopOnFolder();
  let url: string;

  const client = () => new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'any', maxRetries: 0 });
  /** ms of each answer */
  const chatAll = (count: number): Promise<readonly number[]> => {
    const openai = client();
    return Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const began = performance.now();
        await openai.chat.completions.create({
          model: 'clawloop',
          messages: [{ role: 'user', content: `How do I pack for trip number ${n}?` }],
          max_tokens: 24,
        });
        return performance.now() - began;
      }),
    );
  };
  const start = async () => {
    url = await startWithConsole(on, '--serving-max-concurrent-per-key', '256');
    await on.run('learning', 'pause'); // a step would take the processor from both sides
  };

  const browserPid = () => join(on.folder, 'browser.pid');
  /** To all its processes: playwright starts it in a process group of its own. */
  const signalBrowser = (signal: NodeJS.Signals) =>
    process.kill(-Number(readFileSync(browserPid(), 'utf8')), signal);
  /** What ten pages on other machines request: this machine draws nothing. */
  const openReaders = async (): Promise<ChildProcess> => {
    const program = fileURLToPath(new URL('page-readers.ts', import.meta.url));
    const readers = spawn(process.execPath, [program, url, String(PAGES)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void readers.kill('SIGKILL'));
    await once(readers.stdout!, 'data');
    return readers;
  };
  /**
   * Ten pages in a browser on this machine. It takes only what nobody else wants: its many threads take a part of two
   * busy cores even at the lowest priority, so they run in the idle class where the system has it.
   */
  const openPages = async (): Promise<Browser> => {
    const path = join(on.folder, 'browser');
    const run = `'${findBrowser(undefined)}' "$@"`;
    writeFileSync(
      path,
      `#!/bin/sh\necho $$ > '${browserPid()}'\ncommand -v chrt > /dev/null && exec chrt --idle 0 ${run}\nexec nice -n 19 ${run}\n`,
    );
    chmodSync(path, 0o755);
    const { chromium } = await import('playwright-core');
    const browser = await chromium.launch({
      executablePath: path,
      chromiumSandbox: process.getuid?.() !== 0,
      args: ['--disable-gpu'],
    });
    const pages = ['', 'turns', 'learning', 'versions', 'people'];
    await Promise.all(
      Array.from({ length: PAGES }, async (_, n) => {
        const page = await browser.newPage();
        await page.goto(`${url}/#/${pages[n % pages.length]}`);
        await page.waitForSelector('.dot.live');
      }),
    );
    return browser;
  };

  test('200 concurrent chats take as long with ten open pages as without the console', async () => {
    await start();
    const readers = await openReaders();
    const browser = await openPages();
    const { console: pid } = await on.loop.pids();
    await chatAll(CHATS); // warm
    let chatted = CHATS;
    const processorBefore = await processorSeconds(url);
    const times: Record<Watched, number[]> = { not: [], 'by readers': [], 'in a browser': [] };
    for (let round = 0; round < ROUNDS; round++)
      for (const name of inTurn(round)) {
        // a console that continues first reads what came while it was stopped
        process.kill(pid!, 'SIGCONT');
        readers.kill('SIGCONT');
        await until('the console has read every turn', async () => (await turnsRead(url)) >= chatted);
        if (name === 'not') process.kill(pid!, 'SIGSTOP');
        if (name !== 'by readers') readers.kill('SIGSTOP');
        signalBrowser(name === 'in a browser' ? 'SIGCONT' : 'SIGSTOP');
        const round = await chatAll(CHATS);
        console.log(`watched ${name}: median ${Math.round(at(round, 0.5))} ms`);
        times[name].push(...round);
        chatted += CHATS;
      }
    process.kill(pid!, 'SIGCONT');
    signalBrowser('SIGCONT');
    readers.kill('SIGCONT');
    const processor = (await processorSeconds(url)) - processorBefore;
    console.log(`the console took ${processor.toFixed(1)} s of a processor for ${3 * ROUNDS * CHATS} chats`);
    for (const name of ['by readers', 'in a browser'] as const)
      for (const share of [0.5, 0.95])
        console.log(
          `${100 * share} %: ${Math.round(at(times.not, share))} ms not watched, ${Math.round(at(times[name], share))} ms watched ${name}, ratio ${(at(times[name], share) / at(times.not, share)).toFixed(3)}`,
        );
    readers.kill('SIGKILL');
    await browser.close();
    expect(at(times['by readers'], 0.5) / at(times.not, 0.5)).toBeLessThan(1.15);
    expect(at(times['in a browser'], 0.5) / at(times.not, 0.5)).toBeLessThan(1.3);
  });

  test('nothing else notices when the console is killed 20 times', async () => {
    await on.loop?.stop();
    await on.start('--serving-max-concurrent-per-key', '256');
    await on.run('learning', 'pause');
    const before = await on.loop.pids();
    let isOver = false;
    let answered = 0;
    const chats = (async () => {
      while (!isOver) answered += (await chatAll(4)).length;
    })();
    const flags = ['--data-folder', on.folder];
    for (let kill = 0; kill < KILLS; kill++) {
      const service = startService('console', flags);
      await service.url();
      service.signal('SIGKILL'); // while it reads the log
      await service.ended;
    }
    isOver = true;
    await chats; // rejects if one was refused or cut off
    const after = await on.loop.pids();
    console.log(`${answered} chats answered during ${KILLS} kills`);
    expect(after).toEqual(before);
    const last = startService('console', flags);
    const address = await untilReady(last);
    const turns = await turnsRead(address);
    await last.stop();
    expect(turns).toBeGreaterThanOrEqual(answered);
    expect(await on.run('audit')).toContain('balances');
  });
});
