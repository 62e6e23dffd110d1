import { beforeAll, describe } from 'vitest';
import { installOpenEnv, whyNoOpenEnv } from './install.ts';

/** ms: pip takes half a minute on two cores */
const INSTALL_LIMIT_MS = 10 * 60_000;

/**
 * Tests with real OpenEnv servers. If OpenEnv is not installed, the suite is skipped and its name gives the reason.
 * With CLAWLOOP_REQUIRE_ALL=1 it is installed first, outside the time of the tests.
 */
export function describeWithOpenEnv(name: string, tests: () => void): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoOpenEnv();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    beforeAll(() => installOpenEnv((line) => process.stderr.write(`${line}\n`)), INSTALL_LIMIT_MS);
    tests();
  });
}
