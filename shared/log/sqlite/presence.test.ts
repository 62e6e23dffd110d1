import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openPresence } from './presence.ts';

const sessionTimeoutMs = 6_000;
const tickMs = 1_000;
let folder: string;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  folder = mkdtempSync(join(tmpdir(), 'clawloop-presence-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const open = () => openPresence(folder, sessionTimeoutMs, tickMs);
const tick = () => vi.advanceTimersByTime(tickMs);

test('a member without a heartbeat counts as dead after the session timeout, not before', () => {
  const [me, other] = [open(), open()];
  for (let n = 0; n < 20; n += 1) {
    other.beat();
    expect(me.look([other])).toEqual(new Set());
    tick();
  }
  // Looks at 1, 2, ... 5 s of silence.
  for (let n = 0; n < 5; n += 1) {
    expect(me.look([other])).toEqual(new Set());
    tick();
  }
  expect(me.look([other])).toEqual(new Set([other.instance]));
  me.forget(other.instance);
  other.beat();
  expect(me.look([other])).toEqual(new Set());
});

test('a member that was suspended does not count the others as dead when it resumes', () => {
  const [me, other] = [open(), open()];
  me.look([other]);
  vi.advanceTimersByTime(3_600_000);
  expect(me.look([other])).toEqual(new Set());
});

test('an ended process counts as dead at once, where its process id can be trusted', () => {
  const me = open();
  // Linux and macOS number processes far below this.
  const gone = { instance: 'gone', pid: 2 ** 30, pids: me.pids };
  expect(me.look([gone])).toEqual(new Set(['gone']));
  expect(me.look([{ ...gone, instance: 'elsewhere', pids: 'another container' }])).toEqual(new Set());
});
