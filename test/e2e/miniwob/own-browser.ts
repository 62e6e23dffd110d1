import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBrowser } from '../../../clients/environments/miniwob/browser.ts';

/** A program that writes its process id and then becomes Chromium, so that a test can kill it. */
export function ownBrowser(folder: string) {
  const [path, pidFile] = [join(folder, 'browser'), join(folder, 'browser.pid')];
  writeFileSync(path, `#!/bin/sh\necho $$ > '${pidFile}'\nexec '${findBrowser(undefined)}' "$@"\n`);
  chmodSync(path, 0o755);
  const pid = () => Number(readFileSync(pidFile, 'utf8'));
  return { path, pid, kill: () => process.kill(pid(), 'SIGKILL') };
}

/** Process ids of a browser's renderers, the processes that pages run in. */
export function renderersOf(browser: number, all: readonly number[]): readonly number[] {
  const descends = (pid: number): boolean => pid === browser || (pid > 1 && descends(parentOf(pid)));
  return all.filter((pid) => /--type=renderer/.test(textOf(`/proc/${pid}/cmdline`)) && descends(pid));
}

/** The fourth field of `/proc/PID/stat`; the second is in brackets. */
const parentOf = (pid: number): number =>
  Number(
    textOf(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ')[1] ?? 0,
  );

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}
