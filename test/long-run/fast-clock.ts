// node --import 'fast-clock.ts?since=MS&rate=N': the wall clock and the monotonic clock of this process run N times as
// fast since MS, timers above five minutes come due so much earlier, and times of files are converted. AbortSignal.timeout,
// shorter timers, and Node's own timers for sockets stay real.
import fs, { type PathLike, type Stats, type TimeLike } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { setWallClock } from '../chaos/services/wall-clock.ts';
import { readClock, real, simulated, timerMs } from './simulated-time.ts';

const clock = readClock(import.meta.url);
const realNow = Date.now;
const RealDate = Date;
setWallClock(() => Math.floor(simulated(clock, realNow())));

const realMonotonic = performance.now.bind(performance);
performance.now = () => realMonotonic() * clock.rate;

type Timed = (...given: never[]) => unknown;
/** @param at which argument is the time, ms */
const quicken = <Start extends Timed>(start: Start, at: 0 | 1): Start => {
  const quick = (...given: unknown[]) => {
    if (typeof given[at] === 'number') given[at] = timerMs(clock, given[at]);
    return start(...(given as never[]));
  };
  // util.promisify finds its variant here
  return Object.defineProperties(quick, Object.getOwnPropertyDescriptors(start)) as unknown as Start;
};
for (const place of [globalThis, timers]) {
  place.setTimeout = quicken(place.setTimeout, 1);
  place.setInterval = quicken(place.setInterval, 1);
}
timersPromises.setTimeout = quicken(timersPromises.setTimeout, 0);
timersPromises.setInterval = quicken(timersPromises.setInterval, 0);

/** The system keeps real times with files. */
function dated<Found>(found: Found): Found {
  const stats = found as Stats | undefined;
  if (typeof stats?.mtimeMs !== 'number') return found; // none, or BigInt
  for (const name of ['atime', 'mtime', 'ctime', 'birthtime'] as const) {
    const ms = simulated(clock, stats[`${name}Ms`]);
    stats[`${name}Ms`] = ms;
    stats[name] = new RealDate(ms);
  }
  return found;
}
const toReal = (time: TimeLike): number => {
  const ms = time instanceof RealDate ? time.getTime() : Number(time) * 1000;
  return real(clock, ms) / 1000;
};
const { statSync, lstatSync, utimesSync } = fs;
const { stat, lstat, utimes } = fs.promises;
Object.assign(fs, {
  statSync: (...given: Parameters<typeof statSync>) => dated(statSync(...given)),
  lstatSync: (...given: Parameters<typeof lstatSync>) => dated(lstatSync(...given)),
  utimesSync: (path: PathLike, atime: TimeLike, mtime: TimeLike) =>
    utimesSync(path, toReal(atime), toReal(mtime)),
});
Object.assign(fs.promises, {
  stat: async (...given: Parameters<typeof stat>) => dated(await stat(...given)),
  lstat: async (...given: Parameters<typeof lstat>) => dated(await lstat(...given)),
  utimes: (path: PathLike, atime: TimeLike, mtime: TimeLike) => utimes(path, toReal(atime), toReal(mtime)),
});
syncBuiltinESMExports();
