import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const example = fileURLToPath(new URL('../../examples/minimal-loop.ts', import.meta.url));

/** The example takes about 15 seconds of CPU time, and far longer on a busy machine. */
const timeoutMs = 5 * 60_000;

test(
  'the minimal loop learns its taste and swaps weights while an answer runs',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [example]);
    expect(stdout).toContain('version 1 is live; the answer that was running is from claw-nano@v0');
    const result = /^result before=(\d\.\d{3}) after=(\d\.\d{3})$/.exec(stdout.trimEnd().split('\n').at(-1)!);
    const [before, after] = result!.slice(1).map(Number);
    expect(before).toBeGreaterThan(0.2);
    expect(before).toBeLessThan(0.6);
    expect(after).toBeGreaterThan(before! + 0.2);
  },
  timeoutMs,
);

test(
  'Ctrl-C stops the minimal loop cleanly',
  async () => {
    const child = spawn(process.execPath, [example], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    let output = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      if (!output.includes('serving') && (output + chunk).includes('serving')) child.kill('SIGINT');
      output += chunk;
    }
    expect(await exited).toEqual([130, null]);
    expect(output.trimEnd().split('\n').at(-1)).toBe('stopped');
  },
  timeoutMs,
);
