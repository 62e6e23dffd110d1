import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Browser } from 'playwright-core';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { environmentFailure } from '../environment-failure.ts';

/** Names of Chromium and its builds, the free ones first. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/**
 * The path of the browser: the given one, otherwise the first on PATH.
 *
 * @throws UsageError when there is none
 */
export function findBrowser(given: string | undefined): string {
  if (given !== undefined) {
    if (isProgram(given)) return given;
    throw new UsageError(`--browser ${given} is not a program`);
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
  if (found !== undefined) return found;
  throw new UsageError(
    'there is no Chromium on PATH: run `apt-get install --no-install-recommends chromium`, or name a Chrome with --browser PATH',
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** One browser for all attempts. */
export type SharedBrowser = {
  /**
   * The running browser. Starts it on the first call, and again when it has ended.
   *
   * @throws UsageError when the first start fails
   * @throws EnvironmentFailure `environment-unavailable` when a later start fails
   */
  readonly running: () => Promise<Browser>;
  /** Ends a browser that no longer opens pages; the next call of `running` starts another. */
  readonly giveUp: (browser: Browser) => void;
  readonly close: () => Promise<void>;
};

export function shareBrowser(path: string): SharedBrowser {
  let current: Promise<Browser> | undefined;
  let latest: Browser | undefined;
  let hasStarted = false;
  const forget = (browser: Browser) => {
    if (browser === latest) current = undefined;
  };
  const start = async (): Promise<Browser> => {
    try {
      const browser = await launch(path);
      hasStarted = true;
      browser.on('disconnected', () => forget(browser));
      latest = browser;
      return browser;
    } catch (error) {
      current = undefined;
      const message = `${path} did not start: ${reasonOf(error as Error)}`;
      throw hasStarted ? environmentFailure('environment-unavailable', message) : new UsageError(message);
    }
  };
  return {
    running: () => (current ??= start()),
    giveUp: (browser) => {
      forget(browser);
      void browser.close().catch(() => undefined);
    },
    close: async () => {
      const browser = await current?.catch(() => undefined);
      await browser?.close().catch(() => undefined);
    },
  };
}

/** Chromium refuses to run as root unless its own sandbox is off. */
const isRoot = process.getuid?.() === 0;

async function launch(executablePath: string): Promise<Browser> {
  // Loading the library takes a third of a second, which other commands need not wait for.
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath,
    chromiumSandbox: !isRoot,
    // The rollout itself stops on signals, and closes the browser then.
    handleSIGHUP: false,
    handleSIGINT: false,
    handleSIGTERM: false,
    args: [
      '--host-resolver-rules=MAP * ~NOTFOUND', // no page may reach a network, not even this machine's own
      '--disable-smooth-scrolling',
      '--disable-gpu-watchdog', // on a busy machine it ends the process that draws, and no page opens any more
    ],
  });
}

/** The informative lines of a long report. */
function reasonOf({ message }: Error): string {
  const lines = message.split('\n').map((line) => line.trim());
  const telling = lines.filter((line) => /ERROR|FATAL|No usable sandbox|cannot open/i.test(line));
  return [lines[0], ...telling.slice(0, 3)].join(' ');
}
