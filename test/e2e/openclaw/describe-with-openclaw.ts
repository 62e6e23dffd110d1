import { beforeAll, describe } from 'vitest';
import { installOpenClaw, whyNoOpenClaw } from './install.ts';

/** ms: npm has taken a minute and a half for it */
const INSTALL_LIMIT_MS = 10 * 60_000;

/**
 * Tests with the real OpenClaw. Skipped, by a name that says why, where it does not lie ready; where everything is
 * required it is fetched before the first of them, outside their time.
 */
export function describeWithOpenClaw(name: string, tests: () => void): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoOpenClaw();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    beforeAll(() => installOpenClaw((line) => process.stderr.write(`${line}\n`)), INSTALL_LIMIT_MS);
    tests();
  });
}
