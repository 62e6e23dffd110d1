import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSequencer, type TestSpecification, type Vitest } from 'vitest/node';
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

// Small files that take minutes.
const LONGEST = /\/(chaos|soak|histories|demo|plugin|brokers|kafka-event-log)\.long\.test\.ts$/;

/** Large files start first, as by default; before them the longest, so that no worker is alone at the end. */
class LongestFirst implements TestSequencer {
  readonly #bySize: BaseSequencer;
  constructor(vitest: Vitest) {
    this.#bySize = new BaseSequencer(vitest);
  }
  shard(files: TestSpecification[]) {
    return this.#bySize.shard(files);
  }
  async sort(files: TestSpecification[]) {
    const sorted = await this.#bySize.sort(files);
    const isLongest = ({ moduleId }: TestSpecification) => LONGEST.test(moduleId);
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))];
  }
}

type Suite = {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly timeoutMs: number;
  /** Whether each file has a process of its own: 0.3 s of start and imports for each. */
  readonly isolate: boolean;
};

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
    sequence: { sequencer: LongestFirst },
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
