import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { appendTo } from './rotating-file.ts';

const lines = (text: string) => text.split('\n').slice(0, -1);
const folderForTest = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-logs-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

test('a log and its predecessors are kept within the limits, also after a restart', async () => {
  const folder = await folderForTest();
  const path = join(folder, 'serving.log');
  const write = (files: number, starts: number) => {
    for (let start = 0; start < starts; start++) {
      const append = appendTo(path, { mostBytes: 1_000, files });
      for (let n = 0; n < 40; n++) append(`line ${start * 40 + n}`.padEnd(19, '.'));
    }
  };
  write(2, 5);
  expect((await readdir(folder)).sort()).toEqual(['serving.log', 'serving.log.1']);
  const [before, now] = [lines(await readFile(`${path}.1`, 'utf8')), lines(await readFile(path, 'utf8'))];
  expect([before.length, now.length]).toEqual([50, 50]);
  expect([before[0], now.at(-1)]).toEqual(['line 100'.padEnd(19, '.'), 'line 199'.padEnd(19, '.')]);
  appendTo(join(folder, 'no', 'such.log'), { mostBytes: 1_000, files: 2 })(
    'lost, and nobody is stopped by it',
  );

  await rm(path);
  await rm(`${path}.1`);
  write(4, 10);
  const names = ['serving.log', 'serving.log.1', 'serving.log.2', 'serving.log.3'];
  expect((await readdir(folder)).sort()).toEqual(names);
  const texts = await Promise.all(names.toReversed().map((name) => readFile(join(folder, name), 'utf8')));
  const expected = Array.from({ length: 200 }, (_, n) => `line ${200 + n}`.padEnd(19, '.'));
  expect(texts.flatMap(lines)).toEqual(expected);
});

test('a start that keeps fewer files removes the oldest, and no other file', async () => {
  const folder = await folderForTest();
  const others = ['judge.log', 'serving.log', 'serving.log.1', 'serving.log.old', 'serving.log.2.gz'];
  for (const name of [...others, 'serving.log.2', 'serving.log.3', 'serving.log.17'])
    await writeFile(join(folder, name), name);
  appendTo(join(folder, 'serving.log'), { mostBytes: 1_000, files: 2 });
  expect((await readdir(folder)).sort()).toEqual(others.toSorted());
});

test('after lines that could not be written, the next line starts on its own line and the gap is named', async () => {
  const path = join(await folderForTest(), 'judge.log');
  const append = appendTo(path, { mostBytes: 1_000, files: 2 });
  await mkdir(path); // no line can be written
  append('first');
  append('second');
  await rmdir(path);
  await writeFile(path, '{"lev'); // a full disk may take a part of a line
  append('third');
  append('fourth');
  const [part, gap, ...lines] = (await readFile(path, 'utf8')).split('\n');
  expect(part).toBe('{"lev');
  expect(JSON.parse(gap!)).toMatchObject({ level: 40, service: 'supervisor', lines: 2 });
  expect(lines).toEqual(['third', 'fourth', '']);
});
