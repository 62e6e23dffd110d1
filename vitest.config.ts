import { defineConfig } from 'vitest/config';
import { machineNodeIsRecent, OLDEST } from './infra/runtime/node-path.js';

// An older Node loads this file, but not what the tests import: they would fail one by one.
if (!machineNodeIsRecent) {
  console.error(
    `The tests need Node ${OLDEST} or newer, and this is ${process.versions.node}. Run \`npm test -- FILE\` or \`npm run test:long -- FILE\` instead: they find or install it.`,
  );
  process.exit(1);
}

// These count what the whole process holds, such as tensors and compiled graphs.
const OF_THE_PROCESS = [
  'shared/policy/decode/warm-up.test.ts',
  'shared/policy/executors/graph/compiled.test.ts',
];
const SLOW = ['**/*.long.test.ts', '**/*.nightly.test.ts'];

interface Suite {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly timeoutMs: number;
  /** Whether each file has a process of its own: 0.3 s of start and imports for each. */
  readonly isolate: boolean;
}

const project = ({ name, include, exclude = [], timeoutMs, isolate }: Suite) => ({
  test: {
    name,
    include: [...include],
    exclude: ['**/node_modules/**', ...exclude],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    pool: 'forks' as const,
    isolate,
  },
});

/**
 * `default` and `process` together are `npm test`, which stays under six minutes on two cores; `long` runs in CI too;
 * `nightly` needs hours, hundreds of kills or gigabytes.
 */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      project({
        name: 'default',
        include: ['**/*.test.ts'],
        exclude: [...SLOW, ...OF_THE_PROCESS],
        timeoutMs: 60_000,
        isolate: false,
      }),
      project({ name: 'process', include: OF_THE_PROCESS, timeoutMs: 60_000, isolate: true }),
      project({ name: 'long', include: ['**/*.long.test.ts'], timeoutMs: 15 * 60_000, isolate: true }),
      project({
        name: 'nightly',
        include: ['**/*.nightly.test.ts'],
        timeoutMs: 4 * 60 * 60_000,
        isolate: true,
      }),
    ],
  },
});
