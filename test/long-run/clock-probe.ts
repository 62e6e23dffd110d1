// node clock-probe.ts: prints as JSON how long two waits of an hour took, and the ages of files; then the same in a thread.
import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, Worker } from 'node:worker_threads';

const HOUR_MS = 3_600_000;
const folder = mkdtempSync(join(tmpdir(), 'clawloop-clock-'));
const file = join(folder, 'file');
const [wall, monotonic] = [Date.now(), performance.now()];
await delay(HOUR_MS);
await new Promise((resolve) => setTimeout(resolve, HOUR_MS));
const waited = [Date.parse(new Date().toISOString()) - wall, performance.now() - monotonic];
writeFileSync(file, '');
const age = [Date.now() - statSync(file).mtimeMs, Date.now() - (await stat(file)).mtimeMs];
const set = new Date(wall);
utimesSync(file, set, set);
const movedBy = Math.abs(statSync(file).mtimeMs - wall);
rmSync(folder, { recursive: true });
console.log(JSON.stringify({ waited, age, movedBy }));
if (isMainThread) new Worker(new URL(import.meta.url));
