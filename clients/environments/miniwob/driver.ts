import type { Browser } from 'playwright-core';
import { createMutex, unlessAborted, withDeadline } from '../../../shared/lang/async.ts';
import type { Action, EnvironmentDriver, Observation, OpenEnvironment } from '../environment.ts';
import { environmentFailure, environmentFailureKind } from '../environment-failure.ts';
import { carryOut, pageTools } from './actions.ts';
import { findBrowser, shareBrowser } from './browser.ts';
import { type PageState, stateKeyOf, textOfPage } from './observation.ts';
import { type OpenPage, openPage, passTime, type Standing, standingOf, stateOf } from './page.ts';
import { findPages, listPageTasks, readPageTask } from './tasks.ts';

type Settings = {
  /** folder of the pages */
  readonly place: string;
  /** path of the browser; undefined: the first on PATH */
  readonly browser: string | undefined;
  /** ms for one action */
  readonly actLimitMs: number;
};

/**
 * Web pages of MiniWoB++ in one headless Chromium: a context of its own for each attempt. The policy sees a page as
 * text and never as an image.
 *
 * @throws UsageError when there is no browser, or the folder has no such pages
 */
export function miniWobDriver({ place, browser, actLimitMs }: Settings): EnvironmentDriver {
  const pages = findPages(place);
  const shared = shareBrowser(findBrowser(browser));
  return {
    tasks: async (selection) => listPageTasks(pages, selection),
    open: async (task, { seed: given, signal }) => {
      const { page: name, seed } = readPageTask(task, pages, given);
      const running = await shared.running();
      const opening = openPage(running, { folder: pages.folder, name, seed, limitMs: actLimitMs });
      const late = () => {
        throw new Error(`the page did not open within ${actLimitMs / 1000} s: it was closed`);
      };
      try {
        const opened = await unlessAborted(withDeadline(opening, actLimitMs, late), signal);
        return episode({ running, opened, actLimitMs, first: await stateOf(opened) });
      } catch (error) {
        void opening.then(close, () => undefined);
        if (signal.aborted) throw error;
        if (!isGone(error as Error, running))
          throw environmentFailure('environment-broken', firstLine(error as Error));
        shared.giveUp(running);
        throw environmentFailure('environment-unavailable', firstLine(error as Error));
      }
    },
    close: shared.close,
  };
}

type Episode = {
  readonly running: Browser;
  readonly opened: OpenPage;
  readonly actLimitMs: number;
  readonly first: PageState;
};

function episode({ running, opened, actLimitMs, first }: Episode): OpenEnvironment {
  const oneByOne = createMutex();
  let state = first;
  let standing: Standing = { isDone: false, reward: 0, reason: null };
  const observe = async ({ name, arguments: given }: Action): Promise<Observation> => {
    if (standing.isDone) return { content: OVER, isError: true, isDone: true };
    const refusal = await carryOut(name, given, opened);
    if (refusal !== undefined)
      return { content: refusal, isError: true, isDone: false, stateKey: stateKeyOf(state) };
    standing = await standingOf(opened);
    if (!standing.isDone) {
      await passTime(opened);
      standing = await standingOf(opened);
    }
    if (standing.isDone) return { content: OVER, isError: false, isDone: true };
    state = await stateOf(opened);
    return { content: textOfPage(state), isError: false, isDone: false, stateKey: stateKeyOf(state) };
  };
  const late = () => {
    throw environmentFailure('environment-lost', `the page did not react within ${actLimitMs / 1000} s`);
  };
  return {
    messages: [{ role: 'user', content: textOfPage(first) }],
    tools: pageTools,
    takesText: false,
    act: (action, signal) =>
      oneByOne(() => unlessAborted(withDeadline(observe(action), actLimitMs, late), signal), signal).catch(
        (error) => {
          if (signal.aborted) throw error;
          throw failureOf(error, running);
        },
      ),
    evaluate: async () => {
      const { reward, reason, isDone } = standing;
      if (typeof reward !== 'number' || !Number.isFinite(reward))
        throw environmentFailure('evaluation-failed', `the page gave the reward ${String(reward)}`);
      return { reward, detail: { done: isDone, ...(typeof reason === 'string' ? { reason } : {}) } };
    },
    close: () => close(opened),
  };
}

const OVER = 'The episode is over.';

const close = ({ context }: OpenPage): Promise<void> => context.close().catch(() => undefined);

/** A browser or page that is gone loses the attempt; any other error is a fault of the page. */
function failureOf(error: unknown, running: Browser): unknown {
  if (environmentFailureKind(error) !== undefined) return error;
  const kind = isGone(error as Error, running) ? 'environment-lost' : 'environment-broken';
  return environmentFailure(kind, firstLine(error as Error));
}

const isGone = ({ message }: Error, running: Browser): boolean =>
  !running.isConnected() || /closed|crashed|timeout/i.test(message);

const firstLine = ({ message }: Error): string => message.split('\n')[0]!;
