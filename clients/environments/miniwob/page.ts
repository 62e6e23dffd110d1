import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContext, JSHandle, Page } from 'playwright-core';
import { type PageView, viewScript } from './in-page.ts';
import { allowOnly, watchLoading } from './loading.ts';
import type { PageState } from './observation.ts';

/** A page in a context of its own, whose episode has begun. */
export type OpenPage = {
  readonly page: Page;
  readonly view: JSHandle<PageView>;
  readonly context: BrowserContext;
  /** waits until the page loads nothing */
  readonly loaded: () => Promise<void>;
};

/** The page's own clock begins at the same moment in every episode. */
const BEGINNING = new Date('2026-01-01T12:00:00Z');
/** ms of the page's clock after which its episode times out; longer than any episode */
const EPISODE_MS = 24 * 60 * 60_000;
/** ms of the page's clock that pass with each action */
const ACTION_MS = 1_000;

/** actions' time that a page gets to become ready */
const MOST_TRIES = 60;

type PageOptions = {
  readonly folder: string;
  readonly name: string;
  readonly seed: number;
  /** ms for one step of the browser */
  readonly limitMs: number;
};

/** @throws Error of the browser */
export async function openPage(
  browser: Browser,
  { folder, name, seed, limitMs }: PageOptions,
): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width: 640, height: 480 },
    locale: 'en-US',
    timezoneId: 'UTC',
    serviceWorkers: 'block',
    offline: true,
  });
  try {
    context.setDefaultTimeout(limitMs);
    // A page's clock stands still while the policy thinks, so that observations depend only on its actions.
    await context.clock.install({ time: BEGINNING });
    await context.clock.pauseAt(BEGINNING.getTime() + ACTION_MS);
    const loaded = watchLoading(context);
    const page = await context.newPage();
    context.on('page', (popup) => void popup.close().catch(() => undefined));
    const url = pathToFileURL(join(folder, 'miniwob', `${name}.html`)).href;
    await allowOnly(context, folder, url);
    await page.goto(url);
    await page.evaluate(
      `Math.seedrandom(${seed}); core.EPISODE_MAX_TIME = ${EPISODE_MS}; core.startEpisodeReal();`,
    );
    const view = (await page.evaluateHandle(viewScript)) as JSHandle<PageView>;
    const opened = { page, view, context, loaded };
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

/** Lets one second of the page's clock pass: timers fire, animations run, and images load. */
export async function passTime({ page, view, loaded }: OpenPage): Promise<void> {
  await page.clock.runFor(ACTION_MS);
  // The page begins to load an image when its style is computed; a second round trip lets the request arrive here.
  await view.evaluate((seen) => seen.layOut());
  await view.evaluate(() => undefined);
  await loaded();
}

/** The state of an episode. */
export type Standing = {
  readonly isDone: boolean;
  /** as the page gives it, which is a number from -1 to 1; without the page's deduction for time */
  readonly reward: unknown;
  readonly reason: unknown;
};

export const standingOf = ({ page }: OpenPage): Promise<Standing> =>
  page.evaluate<Standing>(
    `({ isDone: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON })`,
  );

export async function stateOf({ page, view }: OpenPage): Promise<PageState> {
  const goal = await page.evaluate<unknown>('core.getUtterance()');
  return { goal: goalOf(goal), elements: await view.evaluate((seen) => seen.list()) };
}

/** Some pages give their goal with its parts, as `{ utterance, fields }`. */
const goalOf = (given: unknown): string =>
  typeof given === 'string' ? given : String((given as { readonly utterance?: unknown }).utterance);
