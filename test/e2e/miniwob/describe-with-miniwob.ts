import { beforeAll, describe } from 'vitest';
import { installMiniWob, whyNoMiniWob } from './install.ts';

/** ms: pip takes a few seconds */
const INSTALL_LIMIT_MS = 5 * 60_000;

/**
 * Tests with the pages of MiniWoB++ in a real Chromium. If one of them is missing, the suite is skipped and its name
 * gives the reason. With CLAWLOOP_REQUIRE_ALL=1 the pages are fetched first, and a missing Chromium fails the tests.
 */
export function describeWithMiniWob(name: string, tests: () => void): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoMiniWob();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    beforeAll(() => installMiniWob(), INSTALL_LIMIT_MS);
    tests();
  });
}
