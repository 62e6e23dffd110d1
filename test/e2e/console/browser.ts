import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, describe, expect } from 'vitest';
import { findBrowser } from '../../../clients/environments/miniwob/browser.ts';

/** ms: a training step on a machine ten times as slow */
const PATIENCE_MS = 300_000;

function whyNoBrowser(): string | null {
  try {
    findBrowser(undefined);
    return null;
  } catch {
    return 'no Chromium on PATH';
  }
}

/** Tests in a real Chromium; skipped with the reason where there is none, failed with CLAWLOOP_REQUIRE_ALL=1. */
export function describeWithBrowser(name: string, tests: (browser: TestBrowser) => void): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoBrowser();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    tests(openBrowser());
  });
}

export type OpenPage = {
  readonly page: Page;
  /** what went wrong in the page: errors, and violations of the content security policy */
  readonly errors: readonly string[];
};

export type TestBrowser = {
  readonly open: (url: string, options?: BrowserContextOptions) => Promise<OpenPage>;
};

/** A browser that reaches this machine and nothing else. */
export function openBrowser(): TestBrowser {
  let browser: Promise<Browser> | undefined;
  afterAll(async () => (await browser)?.close());
  const launch = async () => {
    const { chromium } = await import('playwright-core');
    return chromium.launch({
      executablePath: findBrowser(undefined),
      chromiumSandbox: process.getuid?.() !== 0,
      args: [
        '--disable-gpu',
        '--disable-background-networking',
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      ],
    });
  };
  return {
    open: async (url, options = {}) => {
      browser ??= launch();
      const context = await (await browser).newContext({
        viewport: { width: 1100, height: 800 },
        ...options,
      });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      const errors: string[] = [];
      page.on('pageerror', ({ message }) => errors.push(message));
      page.on('dialog', (dialog) => {
        errors.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('console', (message) => {
        if (/Content Security Policy|TrustedHTML|Trusted Type/i.test(message.text()))
          errors.push(message.text());
      });
      await page.goto(url);
      return { page, errors };
    },
  };
}

/** No violation of the rules of axe, WCAG 2.1 AA included. The script comes by the debugger, past the page's policy. */
export async function expectAccessible(page: Page, where: string): Promise<void> {
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const { axe: tool } = globalThis as unknown as {
      axe: {
        run: () => Promise<{
          violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
        }>;
      };
    };
    const { violations: found } = await tool.run();
    return found.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join(' | ')}`,
    );
  });
  expect(violations, where).toEqual([]);
}

/** Presses Tab until the element with this accessible name has the focus. */
export async function tabTo(page: Page, name: string | RegExp, most = 60): Promise<void> {
  for (let presses = 0; presses < most; presses++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const { activeElement: element } = document;
      return `${element?.getAttribute('aria-label') ?? ''} ${element?.textContent ?? ''}`.trim();
    });
    if (typeof name === 'string' ? focused === name : name.test(focused)) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}
