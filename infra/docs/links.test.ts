import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = [
  ...globSync('*.md', { cwd: root }),
  'examples/README.md',
  ...globSync('docs/**/*.md', { cwd: root }),
];

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');

/** Relative targets of links and pictures. */
const targetsIn = (text: string): readonly string[] =>
  [...withoutCode(text).matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z]+:/.test(target));

/** The anchors that GitHub gives the headings of a page. */
function anchorsIn(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, title] of text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6} +(.+)$/gm)) {
    const shown = title!.trim().replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = shown
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** What is wrong with a link from a page; undefined if it leads somewhere. */
function faultOf(page: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? join(root, page) : join(root, dirname(page), decodeURIComponent(path));
  if (!existsSync(file)) return `${page}: ${target}: no such file`;
  if (anchor === undefined || !file.endsWith('.md')) return undefined;
  if (anchorsIn(readFileSync(file, 'utf8')).has(anchor)) return undefined;
  return `${page}: ${target}: ${relative(root, file)} has no such heading`;
}

test('every relative link of README, CONTRIBUTING and docs leads to a file and its heading', () => {
  const faults = pages.flatMap((page) =>
    targetsIn(readFileSync(join(root, page), 'utf8')).flatMap((target) => faultOf(page, target) ?? []),
  );
  expect(faults).toEqual([]);
});

test('every path that CONTRIBUTING names exists', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  const paths = [...text.matchAll(/`((?:clients|docs|examples|infra|services|shared|test)(?:\/[^`\s]*)?)`/g)]
    .map(([, path]) => path!)
    .filter((path) => !/NAME|\*/.test(path));
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('links to a missing file or heading are found', () => {
  expect(faultOf('docs/start/openclaw.md', '../nowhere.md')).toContain('no such file');
  expect(faultOf('docs/use/sessions.md', '#nowhere')).toContain('no such heading');
  expect(faultOf('docs/use/sessions.md', '#returns')).toBeUndefined();
  expect([...anchorsIn('# A `b`, c?\n# A b c\n```\n# code\n```\n')]).toEqual(['a-b-c', 'a-b-c-1']);
});
