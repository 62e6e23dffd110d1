import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContext, JSHandle, Page } from 'playwright-core';
import { type PageView, viewScript } from './in-page.ts';
import type { PageState } from './observation.ts';

/** A page in a context of its own, whose episode has begun. */
export type OpenPage = {
  readonly page: Page;
  readonly view: JSHandle<PageView>;
  readonly context: BrowserContext;
};

/** The page's own clock begins at the same moment in every episode. */
const BEGINNING = new Date('2026-01-01T12:00:00Z');
/** ms of the page's clock after which its episode ends by itself: never */
const EPISODE_MS = 24 * 60 * 60_000;
/** ms of the page's clock that pass with each action */
const ACTION_MS = 1_000;

/** actions' time that a page gets to become ready */
const MOST_TRIES = 60;

type PageOptions = { readonly folder: string; readonly name: string; readonly seed: number };

/** @throws Error of the browser */
export async function openPage(browser: Browser, { folder, name, seed }: PageOptions): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width: 640, height: 480 },
    locale: 'en-US',
    timezoneId: 'UTC',
    serviceWorkers: 'block',
    offline: true,
  });
  try {
    // A page's time stands still while the policy thinks: what it sees depends on its actions alone.
    await context.clock.install({ time: BEGINNING });
    await context.clock.pauseAt(BEGINNING.getTime() + ACTION_MS);
    const page = await context.newPage();
    context.on('page', (popup) => void popup.close().catch(() => undefined));
    const url = pathToFileURL(join(folder, 'miniwob', `${name}.html`)).href;
    await allowOnly(context, folder, url);
    await page.goto(url);
    await page.evaluate(
      `Math.seedrandom(${seed}); core.EPISODE_MAX_TIME = ${EPISODE_MS}; core.startEpisodeReal();`,
    );
    const view = (await page.evaluateHandle(viewScript)) as JSHandle<PageView>;
    const opened = { page, view, context };
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await passTime(opened);
      if (await page.evaluate<boolean>('WOB_TASK_READY')) return opened;
    }
    throw new Error(`the page ${name} did not become ready`);
  } catch (error) {
    await context.close().catch(() => undefined);
    throw error;
  }
}

/** Lets the page load files of the folder, and refuses all else: other files, networks, and leaving the page. */
async function allowOnly(context: BrowserContext, folder: string, url: string): Promise<void> {
  const inside = pathToFileURL(folder).href;
  let isLoaded = false;
  await context.route('**/*', async (route) => {
    const request = route.request();
    const leaves = request.isNavigationRequest() && (isLoaded || request.url() !== url);
    isLoaded ||= request.isNavigationRequest();
    const allowed = !leaves && request.url().startsWith(`${inside}/`);
    await (allowed ? route.continue() : route.abort()).catch(() => undefined); // the page may be closed
  });
}

/** Lets one second of the page's clock pass: timers fire, and animations go on. */
export const passTime = ({ page }: OpenPage): Promise<void> => page.clock.runFor(ACTION_MS);

/** What the page shows, and how its episode stands. */
export type Reading = PageState & {
  readonly isDone: boolean;
  /** as the page gives it, which is a number from -1 to 1; without the page's deduction for time */
  readonly reward: unknown;
  readonly reason: unknown;
};

export async function readPage({ page, view }: OpenPage): Promise<Reading> {
  const standing = await page.evaluate<Omit<Reading, 'elements' | 'goal'> & { readonly utterance: unknown }>(
    `({ utterance: core.getUtterance(), isDone: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON })`,
  );
  const elements = await view.evaluate((seen) => seen.list());
  return { ...standing, goal: goalOf(standing.utterance), elements };
}

/** Some pages give their goal with its parts, as `{ utterance, fields }`. */
const goalOf = (utterance: unknown): string =>
  typeof utterance === 'string'
    ? utterance
    : String((utterance as { readonly utterance?: unknown }).utterance);
