import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findBrowser } from './browser.ts';
import { findPages, listPageTasks, readPageTask } from './tasks.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  process.env.PATH = path;
});
const path = process.env.PATH;

function folderWith(...files: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'clawloop-pages-'));
  folders.push(folder);
  for (const file of files) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), '');
  }
  return folder;
}

const pages = { folder: '/pages', names: ['a', 'b', 'c'] };
const namesOf = (...input: Parameters<typeof listPageTasks>) =>
  listPageTasks(...input).map(({ name }) => name);

test('tasks go round the pages, and each round has the next seed', () => {
  expect(namesOf(pages, { split: undefined, range: { from: 2, to: 7 } })).toEqual([
    'c-0',
    'a-1',
    'b-1',
    'c-1',
    'a-2',
  ]);
  const [task] = listPageTasks(pages, { split: 'c, a', range: { from: 3, to: 4 } });
  expect(task).toEqual({ name: 'a-1', data: { page: 'a', seed: 1 } });
});

test('without a range each page is one task', () => {
  expect(namesOf(pages, { split: undefined, range: undefined })).toEqual(['a-0', 'b-0', 'c-0']);
});

test('an unknown page is refused with the names of the others', () => {
  expect(() => namesOf(pages, { split: 'a,x', range: undefined })).toThrow(
    "the page 'x', which is not among: a, b, c",
  );
});

test('a task of a data file names a page, and gets the seed of its attempts when it has none', () => {
  expect(readPageTask({ page: 'b' }, pages, 9)).toEqual({ page: 'b', seed: 9 });
  expect(readPageTask({ page: 'b', seed: 4, note: '' }, pages, 9)).toEqual({ page: 'b', seed: 4 });
  for (const task of [{ page: 'x' }, { seed: 1 }, { page: 'a', seed: -1 }, '../a', null])
    expect(() => readPageTask(task, pages, 9)).toThrow(/a task must name a page/);
});

test('the pages are found in the installed package, in its folder of pages, and nowhere else', () => {
  const files = ['core/core.js', 'miniwob/b.html', 'miniwob/a.html', 'miniwob/notes.txt'];
  const installed = folderWith(...files.map((file) => `miniwob/html/${file}`));
  for (const place of [installed, join(installed, 'miniwob'), join(installed, 'miniwob/html')])
    expect(findPages(place)).toEqual({ folder: join(installed, 'miniwob/html'), names: ['a', 'b'] });
  for (const place of [folderWith(), join(installed, 'none'), ''])
    expect(() => findPages(place)).toThrow(/pip install/);
});

test('an error for a missing browser names the command that installs it', () => {
  process.env.PATH = folderWith('chromium');
  expect(() => findBrowser(undefined)).toThrow(/apt-get install --no-install-recommends chromium/);
  expect(() => findBrowser('/no/such/browser')).toThrow('--browser /no/such/browser is not a program');
  expect(findBrowser(process.execPath)).toBe(process.execPath);
});
