import { defineConfig } from 'vitest/config';

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
