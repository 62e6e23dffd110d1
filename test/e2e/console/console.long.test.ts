import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createAccessKey, removeAccessKey } from '../../../shared/runtime/access-keys.ts';
import { clawloop, until } from '../harness/clawloop.ts';
import { loopOnFolder } from '../harness/loop-on-folder.ts';
import { rlClient } from '../rl-client.ts';
import { describeWithBrowser, expectAccessible, tabTo } from './browser.ts';
import { startWithConsole } from './start-console.ts';

const pages = {
  '': /First steps|Ask something/,
  learning: /Nothing to learn from yet/,
  turns: /No turns yet/,
  versions: /No version has been trained yet/,
  flow: /None: every record could be read/,
  people: /Nobody has chatted yet/,
  connect: /ANTHROPIC_BASE_URL/,
} as const;

/** Sends a message and waits for the end of its answer. */
const say = async (page: Page, text: string) => {
  const before = await page.locator('.bubble').count();
  await page.fill('#draft', text);
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    (count) =>
      document.querySelectorAll('.bubble').length >= count + 2 &&
      document.querySelector('.say .main') !== null,
    before,
  );
};
/** Badges of the chat whose text fits. */
const badges = (page: Page, text: RegExp) => page.locator('.bubble .badge').filter({ hasText: text }).count();
/** An answer may be cut off, or a reaction not understood: then the conversation goes on until two turns are samples. */
const talkUntilBatch = async (page: Page) => {
  for (;;) {
    await until('each turn but the last has its verdict', async () => {
      const open = [
        await badges(page, /waiting for your reaction/),
        await badges(page, /waiting for verdict/),
      ];
      return open[0]! <= 1 && open[1] === 0;
    });
    if ((await badges(page, /waiting for batch|in .*batch|trained in/)) >= 2) return;
    await say(page, 'Great, that is exactly what I wanted! What is a quick breakfast?');
  }
};
const show = async (page: Page, name: string, text: RegExp) => {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/${name}`);
  await page.waitForFunction(
    (source) => new RegExp(source).test(document.querySelector('main')?.innerText ?? ''),
    text.source,
  );
};

describeWithBrowser('the console in Chromium, on a running system', (browser) => {
  const on = loopOnFolder();
  let url: string;
  test('its address is printed, and each page has an empty state that anybody can use', async () => {
    url = await startWithConsole(on);
    await until('the banner', () => on.loop.output().includes('ClawLoop is ready'));
    expect(on.loop.output()).toContain(`console    ${url}`);
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, errors } = await browser.open(url, { colorScheme });
      for (const [name, text] of Object.entries(pages)) {
        await show(page, name, text);
        await expectAccessible(page, `${name}, ${colorScheme}`);
      }
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });

  test('chat, correct, see the version change, roll back: with a keyboard alone', async () => {
    const { page, errors } = await browser.open(url);
    await page.waitForSelector('#draft');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content');
    await page.focus('#draft');
    const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';
    await say(page, `How do I pack for a weekend trip? ${hostile}`);
    await say(page, 'Too long. Two sentences, please. What is a quick breakfast?');
    await say(page, 'Great, that is exactly what I wanted! How do I clean a pan?');
    expect(await page.textContent('.talk')).toContain(hostile);
    await talkUntilBatch(page);
    await page.waitForFunction(() => document.querySelector('.now')?.textContent?.startsWith('v1'));
    await page.waitForFunction(() => document.querySelectorAll('.bubble .badge.good').length >= 2);
    await expectAccessible(page, 'a chat');
    await page.evaluate(() => document.querySelector<HTMLElement>('h1')?.focus());
    await show(page, 'versions', /v1 replaces v0/);
    await expectAccessible(page, 'versions');
    await tabTo(page, /^Roll back to v0/);
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog[open]');
    await expectAccessible(page, 'the question');
    await tabTo(page, 'Roll back to v0');
    await page.keyboard.press('Enter');
    // Samples that are left over may train the next version at once, so v0 is not sure to stay the head.
    await page.waitForFunction(() =>
      /Rolled back from v\d+ to v0/.test(document.querySelector('.timeline')?.textContent ?? ''),
    );
    expect(await on.run('policy', 'list')).toMatch(
      /v\d+ rolled back to v0 by an operator(?!.*without effect)/,
    );
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('the chain of a turn leads to every record at its place', async () => {
    const { page, errors } = await browser.open(`${url}/#/turns?words=weekend`);
    await page.click('.turn a');
    await page.waitForSelector('.chain');
    const titles = await page.locator('.chain h3').allTextContents();
    for (const title of [
      'Request and answer',
      'The next request',
      'What followed',
      'Vote',
      'Verdict',
      'Sample',
      'Batch',
      'Training step',
      'New version',
    ])
      expect(titles).toContain(title);
    await expectAccessible(page, 'a turn');
    const places = await page.locator('.chain .place').allTextContents();
    const { stdout } = await clawloop(['topics', 'tail', '--json', '--data-folder', on.folder]);
    const lines = stdout
      .trim()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as {
            topic: string;
            at: { partition: number; offset: number };
            event: { id: string };
          },
      );
    for (const [index, place] of places.entries()) {
      const record = lines.find(({ topic, at }) => `${topic}/${at.partition}@${at.offset}` === place)!;
      await page.locator('.chain .place').nth(index).click();
      await page.waitForFunction(
        (id) => document.querySelector('.json')?.textContent?.includes(id),
        JSON.stringify(record.event.id),
      );
      await page.goBack();
      await page.waitForSelector('.chain');
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('a turn is kept from training, an answer deleted, learning paused, and an audit balances', async () => {
    const { page, errors } = await browser.open(`${url}/#/turns?outcome=open`);
    const accept = async () => {
      await page.click('dialog[open] .main');
      await page.waitForSelector('dialog', { state: 'detached' });
    };
    await page.click('.turn a');
    await page.click('text=Delete …');
    await accept();
    await page.waitForFunction(() =>
      /The answer was deleted/.test(document.querySelector('.explain')?.textContent ?? ''),
    );
    await show(page, 'versions', /Pause learning/);
    await page.click('text=Pause learning …');
    await accept();
    await page.click('text=Resume learning …');
    await accept();
    await page.waitForSelector('text=Pause learning …');
    await show(page, 'flow', /Run an audit/);
    await page.click('text=Run an audit');
    await page.waitForSelector('text=balances');
    await expectAccessible(page, 'flow');
    for (const name of ['learning', 'people', 'turns']) {
      await show(page, name, /\d/);
      await expectAccessible(page, name);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('an ended session with a reward is downloaded, and a download that fails says so', async () => {
    const { page, errors } = await browser.open(`${url}/#/people`);
    await page.click('text=Download all as JSONL');
    await page.waitForSelector('text=There is no ended session with rewards');
    const rl = rlClient(() => on.loop.url);
    const { session_id: session, api_key: key } = await rl.start('eggs');
    await rl.chat(key, 'How do I boil an egg?');
    await rl.post('/rl/set_reward', key, { reward: 1 });
    await rl.post('/rl/end_session', key);
    const button = page.locator(`[aria-label="JSONL of session ${session}"]`);
    await button.waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    expect(download.suggestedFilename()).toBe(`${session}.jsonl`);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ reward: 1 }]);
    expect(lines[0]).toContain(session);
    await page.route('**/api/export*', (route) => route.abort());
    await button.click();
    await page.waitForSelector('[role=alert]:has-text("The console does not answer")');
    await expectAccessible(page, 'a download that failed');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('a phone shows every page without scrolling sideways', async () => {
    const { page, errors } = await browser.open(url, {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    });
    for (const name of Object.keys(pages)) {
      await show(page, name, /\S/);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(360);
      await expectAccessible(page, `${name} on a phone`);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('a service that is down shows, and the page reconnects to a console that was killed', async () => {
    const { page } = await browser.open(`${url}/#/flow`);
    const { judge, console: before } = await on.loop.pids();
    process.kill(judge!, 'SIGSTOP');
    await page.waitForSelector('tr:has-text("judge") >> text=does not answer');
    process.kill(judge!, 'SIGCONT');
    await page.waitForFunction(
      () => !/does not answer/.test(document.querySelector('main')?.textContent ?? ''),
    );
    process.kill(before!, 'SIGKILL');
    await page.waitForSelector('text=connection lost');
    await page.waitForSelector('.dot.live');
    expect((await on.loop.pids()).console).not.toBe(before);
    await page.context().close();
  });

  test('with keys, a wrong key and a key without the right are refused, an operator sees the page', async () => {
    const path = `${on.folder}/keys.json`;
    const [person, operator] = [
      await createAccessKey(path, 'ann'),
      await createAccessKey(path, 'op', { operator: true }),
    ];
    const { page } = await browser.open(url);
    const enter = async (key: string) => {
      await page.waitForSelector('.sign-in');
      await page.fill('input[type=password]', key);
      await page.keyboard.press('Enter');
    };
    await page.waitForSelector('text=needs a key of an operator');
    await expectAccessible(page, 'sign in');
    await enter('wrong-wrong-wrong-wrong');
    await page.waitForSelector('text=This key is wrong');
    await enter(person.secret);
    await page.waitForSelector('text=may not open the console');
    await enter(operator.secret);
    await page.waitForSelector('#draft');
    await show(page, 'people', /operator/);
    expect(await page.content()).not.toContain(operator.secret);
    await page.context().close();
    for (const { id } of [person, operator]) await removeAccessKey(path, id);
  });

  test('a console whose port is taken says so, and all else runs', async () => {
    await on.loop.stop();
    const other = createServer((_request, response) => response.end('not the console')).listen(
      0,
      '127.0.0.1',
    );
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await on.start('--console-port', String(port));
    await until('it says so', () =>
      on.loop.output().includes('the console did not start; all other services run'),
    );
    expect(on.loop.output()).toContain('--console-port');
    expect(await on.run('policy', 'list')).toContain('head');
    expect(Object.keys(await on.loop.pids()).sort()).toEqual(['collector', 'judge', 'serving', 'trainer']);
    other.close();
  });
});
