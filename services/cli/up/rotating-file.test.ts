import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { appendTo } from './rotating-file.ts';

test('a log and its predecessor are kept within the size limit, also after a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-logs-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'serving.log');
  const lines = (text: string) => text.split('\n').slice(0, -1);
  for (let start = 0; start < 5; start++) {
    const append = appendTo(path, 1_000);
    for (let n = 0; n < 40; n++) append(`line ${start * 40 + n}`.padEnd(19, '.'));
  }
  expect((await readdir(folder)).sort()).toEqual(['serving.log', 'serving.log.1']);
  const [before, now] = [lines(await readFile(`${path}.1`, 'utf8')), lines(await readFile(path, 'utf8'))];
  expect([before.length, now.length]).toEqual([50, 50]);
  expect([before[0], now.at(-1)]).toEqual(['line 100'.padEnd(19, '.'), 'line 199'.padEnd(19, '.')]);
  appendTo(join(folder, 'no', 'such.log'))('lost, and nobody is stopped by it');
});

test('after lines that could not be written, the next line starts on its own line and the gap is named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-logs-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'judge.log');
  const append = appendTo(path);
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
