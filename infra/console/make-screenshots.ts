// npm run docs:screenshots: starts ClawLoop on a temporary folder, chats in the console, and writes the pictures of
// docs/use/console.md. Needs Chromium. `-- --all FOLDER` also writes each page in dark and at phone width.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findBrowser } from '../../clients/environments/miniwob/browser.ts';
import { freePort } from '../../shared/runtime/free-port.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folderOfDocs = join(root, 'docs/use/console');
const wide = { width: 1000, height: 700 };
const narrow = { width: 390, height: 800 };
/** px of a picture; longer pages are cut */
const TALLEST = 900;
/** ms; a step takes minutes while other programs need the processor */
const PATIENCE_MS = 600_000;

/** What the person says, one message after each answer. */
const said = [
  'How do I pack for a weekend trip?',
  'Too long. One sentence, please. What do I eat for a quick breakfast?',
  'Great, that is exactly what I wanted! How do I tidy my desk?',
  'Perfect, thanks! What should I wear in deep snow?',
  'No lists, please. How can I save water?',
  'Great, thank you! What does a puppy need?',
];
/** After the first new version. */
const saidLater = [
  'Great, that is what I wanted! What should I pack for a day at the beach?',
  'Perfect, thanks! What can I eat for a light lunch?',
];
const pages = ['try', 'learning', 'turns', 'turn', 'versions', 'flow', 'people'] as const;

async function startLoop(
  folder: string,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const [port, console, ...ports] = await Promise.all(Array.from({ length: 5 }, freePort));
  const health = ['collector', 'judge', 'trainer'].flatMap((name, index) => [
    `--${name}-health-port`,
    String(ports[index]),
  ]);
  const child = spawn(
    process.execPath,
    [
      ...process.execArgv,
      join(root, 'services/cli/main.ts'),
      'up',
      '--data-folder',
      folder,
      '--port',
      String(port),
      '--console-port',
      String(console),
      ...health,
    ],
    { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  );
  const url = `http://127.0.0.1:${console}`;
  const stop = async () => {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  };
  for (const address of [`${url}/readyz`, `http://127.0.0.1:${port}/readyz`])
    while (
      !(await fetch(address).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await new Promise((resolve) => setTimeout(resolve, 200));
  return { url, stop };
}

async function talk(page: Page, url: string): Promise<void> {
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(url);
  let answers = 0;
  const say = async (text: string): Promise<void> => {
    await page.fill('#draft', text);
    await page.press('#draft', 'Enter');
    await page.waitForSelector(`.bubble.assistant .under >> nth=${answers++}`);
    await page.waitForSelector('.say .main');
  };
  for (const text of said) await say(text);
  await page.waitForSelector('.now:text-matches("^v[1-9]")');
  for (const text of saidLater) await say(text);
  // the last answer but one has its verdict
  await page.waitForSelector('.bubble .badge.good >> nth=3');
}

/** Opens a page of the console and waits until it has drawn. */
async function show(page: Page, url: string, name: (typeof pages)[number]): Promise<void> {
  if (name === 'turn') {
    await page.goto(`${url}/#/turns?outcome=trained`);
    await page.click('.turn:last-child a');
    await page.waitForSelector('.chain');
  } else if (name !== 'try') {
    await page.goto(`${url}/#/${name}`);
    await page.waitForSelector('main section, main .turns');
  }
  await page.waitForSelector('.said:not(.shown)', { state: 'attached' }); // it would cover a part of the page
  await page.waitForTimeout(700);
}

async function shoot(page: Page, path: string): Promise<void> {
  await page.evaluate('scrollTo(0, 0)');
  const height = Math.min(TALLEST, Number(await page.evaluate('document.documentElement.scrollHeight')));
  await page.screenshot({
    path,
    clip: { x: 0, y: 0, width: page.viewportSize()!.width, height },
    fullPage: true,
  });
  process.stderr.write(`${path}\n`);
}

async function shootAll(browser: Browser, url: string, folder: string): Promise<void> {
  for (const [name, options] of Object.entries({
    dark: { viewport: wide, colorScheme: 'dark' as const },
    phone: { viewport: narrow, colorScheme: 'light' as const, isMobile: true },
    'phone-dark': { viewport: narrow, colorScheme: 'dark' as const, isMobile: true },
  })) {
    const page = await (await browser.newContext(options)).newPage();
    await page.goto(url);
    await page.waitForSelector('#draft');
    for (const one of pages) {
      await show(page, url, one);
      await shoot(page, join(folder, `${one}-${name}.png`));
    }
    await page.goto(`${url}/#/connect`);
    await page.waitForSelector('.copyable');
    await shoot(page, join(folder, `connect-${name}.png`));
  }
}

const [flag, into] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'clawloop-screenshots-'));
mkdirSync(folderOfDocs, { recursive: true });
const loop = await startLoop(folder);
const browser = await chromium.launch({
  executablePath: findBrowser(undefined),
  chromiumSandbox: process.getuid?.() !== 0,
  args: ['--disable-gpu', '--disable-background-networking'],
});
try {
  const page = await (await browser.newContext({ viewport: wide, colorScheme: 'light' })).newPage();
  await talk(page, loop.url);
  for (const name of pages) {
    await show(page, loop.url, name);
    if (name === 'flow') {
      await page.click('text=Run an audit');
      await page.waitForSelector('text=balances');
    }
    await shoot(page, join(folderOfDocs, `${name}.png`));
  }
  if (flag === '--all' && into !== undefined) await shootAll(browser, loop.url, into);
} finally {
  await browser.close();
  await loop.stop();
  await rm(folder, { recursive: true, force: true });
}
