import { z } from 'zod';
import { parseJson } from '../../../shared/lang/json.ts';
import { javaScriptEdits } from './javascript-edits.ts';
import type { Toolchain } from './toolchain.ts';

const OTHER_FOLDERS = /(^|\/)(docs?|examples?|benchmarks?|scripts?|coverage|dist|build|node_modules)\//;

const Manifest = z.looseObject({ dependencies: z.record(z.string(), z.string()).default({}) });

/** Node 24 and its own test runner. */
export const javascript: Toolchain = {
  language: 'javascript',
  image: `FROM docker.io/library/node:24-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*`,
  testCommand: 'node --test',
  runner: ['run.sh', 'clawloop-report.mjs'],
  testFiles: ['*.test.*js', '*-test.*js', '*_test.*js', 'test.*js', 'test-*.*js', 'package.json', '.npmrc'],
  testFolders: ['test', 'tests', '__tests__', 'node_modules'],
  isSource: (path) => /\.[cm]?js$/.test(path) && !OTHER_FOLDERS.test(path),
  rootOf: (path) => path.split('/')[0]!,
  whyNot: async (read) => {
    const manifest = Manifest.safeParse(parseJson((await read('package.json')) ?? ''));
    const names = Object.keys(manifest.data?.dependencies ?? {});
    return names.length === 0 ? undefined : `needs other packages (${names.join(', ')})`;
  },
  findEdits: async (texts) => [...texts].flatMap(([file, text]) => javaScriptEdits(file, text)),
};
