/** Replaces the wall clock of this process: Date.now and Date. */
export function setWallClock(now: () => number): void {
  Date.now = now;
  globalThis.Date = new Proxy(Date, {
    construct: (date, given) => Reflect.construct(date, given.length === 0 ? [now()] : given) as Date,
    apply: () => new Date(now()).toString(),
  });
}
