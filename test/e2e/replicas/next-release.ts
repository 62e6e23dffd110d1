import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * A copy of the program that raises the version of every event and of the rows of every fold, as a release may do at
 * most: each record and each row that it writes is newer than what this program reads.
 */
export async function makeNextRelease(): Promise<{
  readonly root: string;
  readonly remove: () => Promise<void>;
}> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-next-release-'));
  for (const folder of ['clients', 'services', 'shared'])
    await cp(join(repository, folder), join(root, folder), { recursive: true });
  await cp(join(repository, 'package.json'), join(root, 'package.json'));
  await symlink(join(repository, 'node_modules'), join(root, 'node_modules'));
  const events = join(root, 'shared', 'events');
  let raised = 0;
  for (const file of await readdir(events)) {
    const before = await readFile(join(events, file), 'utf8');
    const after = before.replace(
      /(defineEvent\(\s*'[a-z.-]+',\s*)(\d+)/,
      (_, head: string, version: string) => {
        raised += 1;
        return `${head}${Number(version) + 1}`;
      },
    );
    if (after !== before) await writeFile(join(events, file), after);
  }
  if (raised < 30) throw new Error(`only ${raised} events have a version`);
  await raiseRows(root);
  const restoreCache = keepCompiledIn(join(root, '.compiled'));
  return {
    root,
    remove: async () => {
      restoreCache();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Node caches compiled modules by their path, so each copy of the program would leave its modules in the cache. */
function keepCompiledIn(folder: string): () => void {
  const before = process.env.NODE_COMPILE_CACHE;
  process.env.NODE_COMPILE_CACHE = folder;
  return () => {
    if (before === undefined) delete process.env.NODE_COMPILE_CACHE;
    else process.env.NODE_COMPILE_CACHE = before;
  };
}

/** The file and the name of each fold, and its group. */
const folds = [
  ['services/collector/attribute.ts', 'attribute', 'attribute'],
  ['services/collector/assemble.ts', 'assemble', 'assemble'],
  ['services/collector/submit.ts', 'submit', 'submit'],
  ['services/judge/judge-fold.ts', 'judge', 'judge'],
  ['shared/lineage/head-fold.ts', 'head', 'trainer'],
] as const;

async function raiseRows(root: string): Promise<void> {
  for (const [file, name] of folds)
    await replaceIn(
      join(root, file),
      `  name: '${name}',\n`,
      `  name: '${name}',\n  migrations: [() => []],\n`,
    );
  const versions = folds.map(([, , group]) => `${group}: 2`).join(', ');
  await replaceIn(
    join(root, 'shared/log/row-versions.ts'),
    '<string, number>> = {}',
    `<string, number>> = { ${versions} }`,
  );
}

async function replaceIn(file: string, text: string, by: string): Promise<void> {
  const before = await readFile(file, 'utf8');
  if (!before.includes(text)) throw new Error(`${file} does not contain ${text}`);
  await writeFile(file, before.replace(text, by));
}
