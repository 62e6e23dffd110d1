import { pathToFileURL } from 'node:url';
import type { BrowserContext } from 'playwright-core';
import { withDeadline } from '../../../shared/lang/async.ts';

/**
 * Lets a page load files of the folder, and refuses all else: other files, networks, and leaving the page.
 *
 * @param url of the page
 */
export async function allowOnly(context: BrowserContext, folder: string, url: string): Promise<void> {
  const inside = pathToFileURL(folder).href;
  let isLoaded = false;
  await context.route('**/*', async (route) => {
    const request = route.request();
    const leaves = request.isNavigationRequest() && (isLoaded || request.url() !== url);
    isLoaded ||= request.isNavigationRequest();
    const allowed = !leaves && request.url().startsWith(`${inside}/`);
    // a navigation that is aborted, unlike one that fails, leaves the page as it is
    await (allowed ? route.continue() : route.abort('aborted')).catch(() => undefined); // the page may be closed
  });
}

/** ms; files of this machine load in a few */
const PATIENCE_MS = 1_000;

/** Counts what a page is loading. The result waits until it loads nothing, or for a second. */
export function watchLoading(context: BrowserContext): () => Promise<void> {
  let loading = 0;
  let waiting: (() => void)[] = [];
  const ended = () => {
    loading--;
    if (loading > 0) return;
    for (const go of waiting) go();
    waiting = [];
  };
  context.on('request', () => loading++);
  context.on('requestfinished', ended);
  context.on('requestfailed', ended);
  return async () => {
    if (loading === 0) return;
    await withDeadline(new Promise<void>((resolve) => waiting.push(resolve)), PATIENCE_MS, () => undefined);
  };
}
