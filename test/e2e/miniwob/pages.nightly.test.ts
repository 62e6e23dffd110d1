import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { EnvironmentDriver } from '../../../clients/environments/environment.ts';
import { environmentFailureKind } from '../../../clients/environments/environment-failure.ts';
import { miniWobDriver } from '../../../clients/environments/miniwob/driver.ts';
import { describeWithMiniWob } from './describe-with-miniwob.ts';
import { ownBrowser, renderersOf } from './own-browser.ts';
import { writePages } from './own-pages.ts';
import { act, driverHere, open, play } from './play.ts';
import { solvers } from './solvers.ts';

const { signal } = new AbortController();

describeWithMiniWob('web pages as environments', () => {
  const drivers: EnvironmentDriver[] = [];
  const folders: string[] = [];
  const started = (...input: Parameters<typeof driverHere>) => {
    const driver = driverHere(...input);
    drivers.push(driver);
    return driver;
  };
  const newFolder = () => {
    const folder = mkdtempSync(join(tmpdir(), 'clawloop-pages-'));
    folders.push(folder);
    return folder;
  };
  afterEach(async () => {
    for (const driver of drivers.splice(0)) await driver.close!();
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  test('the same seed gives the same texts, states and reward in two browsers', async () => {
    const [one, other] = [started(), started()];
    for (const page of Object.keys(solvers)) {
      const [first, second] = await Promise.all([play(one, page, 7), play(other, page, 7)]);
      expect(second, page).toEqual(first);
      expect(first.reward, page).toBe(1);
      const [next] = (await play(one, page, 8)).seen;
      expect(page === 'click-test-2' || next!.content !== first.seen[0]!.content, page).toBe(true);
    }
  });

  test('attempts at the same time do not see each other', async () => {
    const driver = started();
    const tasks = [0, 1, 2, 3].map((seed) => ({ page: 'login-user', seed }));
    const together = await Promise.all(tasks.map(({ page, seed }) => play(driver, page, seed)));
    for (const { page, seed } of tasks) expect(together[seed]).toEqual(await play(driver, page, seed));
  });

  test('every tool acts on the page: keys, dates, lists, scrolling and time', async () => {
    const driver = started();
    const at = async (page: string, ...calls: (readonly [string, object])[]) => {
      const environment = await open(driver, { page, seed: 0 });
      const seen = [environment.messages[0]!.content];
      for (const [name, given] of calls) seen.push((await act(environment, name, given)).content);
      const { reward } = await environment.evaluate(signal);
      await environment.close();
      return { seen, reward };
    };
    const date = await at('enter-date', ['fill', { ref: 1, text: '2010-05-20' }], ['click', { ref: 2 }]);
    expect(date.seen[1]).toMatch(/\[1\] input date value="2010-05-20"/);
    expect(date.reward).toBe(1);
    const noDate = await at('enter-date', ['fill', { ref: 1, text: 'May' }]);
    expect(noDate.seen[1]).toMatch(/\[1\] input date value=""/); // the browser refuses such a date

    const keys = await at(
      'login-user',
      ['fill', { ref: 2, text: 'karrie' }],
      ['press', { key: 'Tab' }],
      ['press', { key: 'A' }],
      ['press', { key: 'U' }],
      ['press', { key: 'Tab' }],
      ['press', { key: 'Enter' }],
    );
    expect(keys.seen[4]).toMatch(/\[4\] input password value="••" focused/);
    expect(keys.reward).toBe(1);

    const both = await at(
      'click-scroll-list',
      ['select', { ref: 1, option: 'Corrine' }],
      ['select', { ref: 1, option: 'Catherine' }],
      ['click', { ref: 2 }],
    );
    expect(both.seen[2]).toMatch(/value="Catherine, Corrine"/);
    expect(both.reward).toBe(1);

    const scrolled = await at('email-inbox', ['scroll', { ref: 1, direction: 'down' }]);
    expect(scrolled.seen).toEqual([
      expect.stringMatching(/scrolled=0\/31/),
      expect.stringMatching(/scrolled=31\/31/),
    ]);
    // seed 0 asks for one second between the clicks, which each action takes
    expect((await at('button-delay', ['click', { ref: 1 }], ['click', { ref: 2 }])).reward).toBe(1);
    const late = await at('button-delay', ['click', { ref: 1 }], ['wait', {}], ['click', { ref: 2 }]);
    expect(late.reward).toBe(-1);
  });

  test('an episode that is not done is rated as it stands, and a done one takes no action', async () => {
    const environment = await open(started(), { page: 'click-test-2', seed: 0 });
    expect(await environment.evaluate(signal)).toEqual({ reward: 0, detail: { done: false } });
    expect(await act(environment, 'click', { ref: 2 })).toMatchObject({ isDone: true, isError: false });
    expect(await environment.evaluate(signal)).toEqual({ reward: -1, detail: { done: true } });
    expect(await act(environment, 'click', { ref: 1 })).toMatchObject({ isDone: true, isError: true });
    expect(await environment.evaluate(signal)).toEqual({ reward: -1, detail: { done: true } });
    await environment.close();
  });

  test('a covered element is not clicked through, and one that is partly covered is clicked beside', async () => {
    const cover = (width: number) =>
      `<div style="position:relative"><button onclick="end(1)" style="width:60px;height:30px">Go</button>
       <div id="lid" onclick="end(-1)" style="position:absolute;left:0;top:0;width:${width}px;height:40px"></div></div>`;
    const driver = started(
      writePages(newFolder(), { covered: { body: cover(80) }, partly: { body: cover(55) } }),
    );
    const covered = await open(driver, { page: 'covered' });
    expect((await act(covered, 'click', { ref: 1 })).content).toBe(
      'Element 1 is covered by another element.',
    );
    const partly = await open(driver, { page: 'partly' });
    expect(await act(partly, 'click', { ref: 1 })).toMatchObject({ isDone: true });
    expect((await partly.evaluate(signal)).reward).toBe(1);
  });

  test('a crashed or hanging page loses its attempt, and a page that gives no number is not rated', async () => {
    const browser = ownBrowser(newFolder());
    const place = writePages(newFolder(), {
      hangs: { body: '<button onclick="for(;;);">Go</button>' },
      nothing: { body: '<button onclick="end(NaN)">Go</button>' },
      calm: { body: '<button onclick="end(0.5)">Go</button>' },
    });
    const driver = miniWobDriver({ place, browser: browser.path, actLimitMs: 10_000 });
    drivers.push(driver);
    const failing = (work: Promise<unknown>) => work.then(() => undefined, environmentFailureKind);
    const crashed = await open(driver, { page: 'calm' });
    const processes = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
    for (const pid of renderersOf(browser.pid(), processes)) process.kill(pid, 'SIGKILL');
    expect(await failing(act(crashed, 'click', { ref: 1 }))).toBe('environment-lost');
    const hung = await open(driver, { page: 'hangs' });
    expect(await failing(act(hung, 'click', { ref: 1 }))).toBe('environment-lost');
    await hung.close();
    const nothing = await open(driver, { page: 'nothing' });
    await act(nothing, 'click', { ref: 1 });
    expect(await failing(nothing.evaluate(signal))).toBe('evaluation-failed');
    const calm = await open(driver, { page: 'calm' });
    await act(calm, 'click', { ref: 1 });
    expect((await calm.evaluate(signal)).reward).toBe(0.5);
  });
});

describeWithMiniWob('web pages that try to leave their folder', () => {
  let server: Server;
  const asked: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'clawloop-hostile-'));
  beforeAll(async () => {
    server = createServer(({ url }, response) => {
      asked.push(url ?? '');
      response.setHeader('access-control-allow-origin', '*').end('out');
    });
    server.on('upgrade', ({ url }, socket) => {
      asked.push(url ?? '');
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  test('no network, no file outside the folder, no other page, no window', async () => {
    const { port } = server.address() as AddressInfo;
    const away = (path: string) => `http://127.0.0.1:${port}/${path}`;
    const place = writePages(folder, {
      hostile: {
        body: `<button onclick="location.href='${away('link')}'">leave</button>
          <button onclick="location.href='file:///etc/passwd'">read</button>
          <button onclick="window.open('${away('window')}')">open</button>
          <iframe src="file:///etc/hostname" width="50" height="20"></iframe>
          <form action="${away('form')}" method="post"><button>send</button></form>
          <p id="tried">none</p>`,
        script: `
          const tried = (name) => (document.getElementById('tried').textContent += ' ' + name);
          fetch('${away('fetch')}').then(() => tried('got'), () => tried('fetch'));
          new Image().src = '${away('image')}';
          const socket = new WebSocket('${away('socket').replace('http', 'ws')}');
          socket.onopen = () => tried('got');
          socket.onerror = () => tried('socket');
          navigator.sendBeacon('${away('beacon')}', 'x');
          fetch('file:///etc/passwd').then(() => tried('got'), () => tried('file'));
        `,
      },
    });
    const driver = driverHere(place);
    try {
      const environment = await open(driver, { page: 'hostile' });
      let seen = environment.messages[0]!.content;
      while (!/fetch.*|.*socket/.test(seen) || !/file/.test(seen))
        seen = (await act(environment, 'wait', {})).content;
      for (const ref of [1, 2, 3, 4]) {
        const { content } = await act(environment, 'click', { ref });
        expect(content).toMatch(/^Goal: Try\.\n\n\[1\] button "leave"/);
        expect(content).not.toMatch(/got|root/);
      }
      expect(asked).toEqual([]);
      await environment.close();
    } finally {
      await driver.close!();
    }
  });
});
