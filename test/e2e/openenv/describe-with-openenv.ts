import { beforeAll, describe } from 'vitest';
import { installOpenEnv, whyNoOpenEnv } from './install.ts';

/** ms: pip has taken half a minute for it */
const INSTALL_LIMIT_MS = 10 * 60_000;

/**
 * Tests with real OpenEnv servers. Skipped, by a name that says why, where OpenEnv does not lie ready; where
 * everything is required it is fetched before the first of them, outside their time.
 */
export function describeWithOpenEnv(name: string, tests: () => void): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoOpenEnv();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    beforeAll(() => installOpenEnv((line) => process.stderr.write(`${line}\n`)), INSTALL_LIMIT_MS);
    tests();
  });
}
