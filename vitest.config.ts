import { defineConfig } from 'vitest/config';
import { machineNodeIsRecent, OLDEST } from './infra/runtime/node-path.js';

// An older Node loads this file, but not what the tests import: they would fail one by one.
if (!machineNodeIsRecent) {
  console.error(
    `The tests need Node ${OLDEST} or newer, and this is ${process.versions.node}. Run \`npm test -- FILE\` or \`npm run test:long -- FILE\` instead: they find or install it.`,
  );
  process.exit(1);
}

/**
 * `default` stays under six minutes on two cores; `long` runs in CI too; `nightly` needs hours, hundreds of
 * kills or gigabytes.
 */
const project = (name: string, include: string[], exclude: string[], timeoutMs: number) => ({
  test: {
    name,
    include,
    exclude: ['**/node_modules/**', ...exclude],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    pool: 'forks' as const,
    maxWorkers: 2,
  },
});

export default defineConfig({
  test: {
    projects: [
      project('default', ['**/*.test.ts'], ['**/*.long.test.ts', '**/*.nightly.test.ts'], 60_000),
      project('long', ['**/*.long.test.ts'], [], 15 * 60_000),
      project('nightly', ['**/*.nightly.test.ts'], [], 4 * 60 * 60_000),
    ],
  },
});
