import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findViolations } from './find-violations.ts';
import { rules } from './rules.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'imports-'));
});
afterEach(() => rm(root, { recursive: true }));

/** Writes the files, with a placeholder for every other file that they import, and checks them all. */
async function check(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const imported = Object.entries(files).flatMap(([path, text]) =>
    [...text.matchAll(/'(\.[^']+)'/g)].map(([, name]) => join(dirname(path), name!)),
  );
  for (const path of [...Object.keys(files), ...imported]) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), files[path] ?? 'export const x = 1;\n');
  }
  const { violations } = await findViolations(root);
  return violations.map(({ rule, from }) => `${rule} ${from}`);
}

const forbidden: readonly (readonly [rule: string, file: string, text: string])[] = [
  ['service', 'services/judge/a.ts', "import { x } from '../trainer/b.ts';"],
  ['service', 'services/collector/a/b/c.ts', "import { x } from '../../../serving/server.ts';"],
  ['service', 'services/collector/a/b/c.ts', "import { x } from '../../../../services/serving/server.ts';"],
  ['service', 'services/judge/a.ts', "import type { X } from '../trainer/b.ts';"],
  ['service', 'services/judge/a.ts', "export { x } from '../trainer/b.ts';"],
  ['service', 'services/judge/a.ts', "export const b = await import('../trainer/b.ts');"],
  ['service', 'services/judge/a.test.ts', "import { x } from '../trainer/b.ts';"],
  ['service', 'services/judge/a.ts', "import { x } from '../../clients/rollout/b.ts';"],
  ['service', 'services/judge/a.ts', "import { x } from '../../infra/runtime/b.js';"],
  ['cli', 'services/cli/a/b/c.ts', "import { x } from '../../../serving/server.ts';"],
  ['cli', 'services/cli/a.ts', "import { x } from '../../infra/docs/b.ts';"],
  ['clients', 'clients/rollout/a.ts', "import { x } from '../../services/cli/b.ts';"],
  ['shared', 'shared/chat/a.ts', "import { x } from '../../services/cli/b.ts';"],
  ['shared', 'shared/chat/deep/er/a.ts', "import { x } from '../../../../clients/rollout/b.ts';"],
  ['shared', 'shared/chat/a.ts', "import { x } from '../../infra/docs/b.ts';"],
  ['product-without-tests', 'shared/chat/a.ts', "import { x } from '../../test/e2e/b.ts';"],
  ['product-without-tests', 'services/cli/a.ts', "import { x } from '../../test/e2e/b.ts';"],
  ['product-without-tests', 'clients/demo/a.ts', "import { x } from '../../test/e2e/b.ts';"],
  ['product-without-tests', 'services/cli/a.ts', "import { x } from './testing/b.ts';"],
  ['events', 'shared/events/a.ts', "import { x } from '../chat/b.ts';"],
  ['events', 'shared/events/a.ts', "import { join } from 'node:path';"],
  ['policy', 'shared/policy/train/a.ts', "import { x } from '../../log/b.ts';"],
  ['policy', 'shared/policy/a.ts', "import { x } from '../queue/b.ts';"],
  ['policy', 'shared/policy/a.ts', "import { x } from '../runtime/b.ts';"],
  ['shared', 'shared/policy/a.ts', "import { x } from '../../services/judge/b.ts';"],
  ['json-grammar', 'shared/json-grammar/a.ts', "import { x } from '../chat/b.ts';"],
  ['json-grammar', 'shared/json-grammar/deep/a.ts', "import { x } from '../../policy/b.ts';"],
  ['resolved', 'shared/chat/a.ts', "import { x } from 'no-such-package';"],
];

test.each(forbidden)('%s: in %s, the rule forbids %s', async (rule, file, text) => {
  expect(await check({ [file]: text })).toEqual([`${rule} ${file}`]);
});

test.each(['fastify', '@fastify/cors', 'undici'])('policy: shared/policy may not import %s', async (name) => {
  const found = await check({ 'shared/policy/a.ts': `import { x } from '${name}';` });
  expect(found).toContain('policy shared/policy/a.ts');
});

test('no-circle: two files may not import each other, except for types', async () => {
  const circle = { 'shared/chat/a.ts': "import { x } from './b.ts';" };
  expect(await check({ ...circle, 'shared/chat/b.ts': "import type { X } from './a.ts';" })).toEqual([]);
  expect(await check({ ...circle, 'shared/chat/b.ts': "import { x } from './a.ts';" })).toEqual([
    'no-circle shared/chat/a.ts',
  ]);
});

test('every rule has an import that it forbids', () => {
  const tried = new Set<string | undefined>([...forbidden.map(([rule]) => rule), 'no-circle']);
  expect(rules.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([]);
});

test('allowed imports are allowed', async () => {
  const files = {
    'services/judge/a.ts': "import { x } from './deep/b.ts'; import { y } from '../../shared/log/c.ts';",
    'services/judge/deep/b.ts': "import { y } from '../../../shared/policy/c.ts';",
    'services/judge/a.test.ts': "import { x } from '../../test/e2e/d.ts'; import './testing/e.ts';",
    'services/cli/a.ts': "import { x } from '../../clients/rollout/b.ts';",
    'services/cli/bin.js': "import { x } from '../../infra/runtime/run.js';",
    'clients/demo/a.ts': "import { x } from '../rollout/b.ts'; import { y } from '../../shared/log/c.ts';",
    'shared/events/a.ts': "import { x } from './b.ts';",
    'shared/policy/a.ts': "import { x } from '../events/a.ts'; import { join } from 'node:path';",
    'shared/json-grammar/a.ts': "import { x } from './deep/b.ts';",
    'test/e2e/a.ts': "import { x } from '../../services/judge/a.ts';",
    'examples/a.ts': "import { x } from '../shared/policy/a.ts';",
  };
  expect(await check(files)).toEqual([]);
});
