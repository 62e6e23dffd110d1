// node --import shifted-clock.ts?FILE: shifts the wall clock of this process by the ms in FILE, and follows changes of
// the file. The monotonic clock stays, as when a machine's clock jumps.
import { readFileSync } from 'node:fs';
import { setWallClock } from './wall-clock.ts';

const POLL_MS = 50;
const file = decodeURIComponent(new URL(import.meta.url).search.slice(1));
const realNow = Date.now;
let offsetMs = 0;

const look = (): void => {
  try {
    offsetMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    // not written yet: no offset
  }
};
look();
setInterval(look, POLL_MS).unref();

setWallClock(() => realNow() + offsetMs);
