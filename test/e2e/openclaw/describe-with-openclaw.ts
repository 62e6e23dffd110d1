import { beforeAll, describe } from 'vitest';
import { installOpenClaw, whyNoOpenClaw } from './install.ts';

/** ms: npm has taken a minute and a half for it */
const INSTALL_LIMIT_MS = 10 * 60_000;

/**
 * Tests with the real OpenClaw. If it is not installed, the suite is skipped and its name gives the reason. With
 * CLAWLOOP_REQUIRE_ALL=1 it is installed first, outside the time of the tests.
 */
export function describeWithOpenClaw(name: string, tests: () => void): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoOpenClaw();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    beforeAll(() => installOpenClaw((line) => process.stderr.write(`${line}\n`)), INSTALL_LIMIT_MS);
    tests();
  });
}
