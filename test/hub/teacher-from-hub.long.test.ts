import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openTrainerFolder, writeTinyModel } from '../e2e/trainer-process.ts';
import { startHubServer } from './hub-server.ts';

test('a teacher by its id on the hub comes once, teaches, is found again by replay, and is refused by name', async () => {
  const folder = await openTrainerFolder();
  const { root, start, submit, settled, events, replay } = folder;
  const source = join(root, 'teacher');
  await writeTinyModel(source, 2);
  const files = new Map<string, Buffer>();
  for (const name of await readdir(source)) files.set(name, await readFile(join(source, name)));
  const hub = await startHubServer({ 'someone/teacher': { commit: 'd'.repeat(40), files } });
  const flags = ['--hub-url', hub.url, '--hub-cache', join(root, 'cache')];
  try {
    const trainer = start(flags);
    // a teacher of random weights reads no hint as it is meant
    const settings = {
      ...({ method: 'opd', distillation: 'sampled' } as const),
      teacher: 'someone/teacher',
      hintCheck: false,
    };
    for (const n of [1, 2]) {
      await submit(n, { settings });
      expect(await settled(n)).toMatchObject({ head: n });
    }
    const trained = events().flatMap((event) => (event.type === 'policy.trained' ? [event.data] : []));
    for (const { fingerprint, metrics } of trained) {
      expect(fingerprint).toMatch(/; teacher [0-9a-f]{16,}$/);
      expect(metrics).toMatchObject({ hintsUsed: 1, teacherGap: expect.any(Number) });
    }
    const weights = hub.served.filter(({ path, range }) => path.startsWith('/cdn/') && range !== 'bytes=0-0');
    expect(weights).toHaveLength(1);
    await submit(3, { settings: { ...settings, teacher: 'someone/else' } });
    expect(await settled(3)).toMatchObject({ head: 2 });
    expect(events().at(-1)).toMatchObject({
      type: 'policy.update-failed',
      data: { reason: 'teacher-missing', detail: expect.stringContaining('no model someone/else') },
    });
    expect(await trainer.end('SIGTERM')).toBe(0);
    const replayed = await replay(flags);
    expect(replayed.text).toMatch(/2 versions in the log, 2 replayed: 2 same/);
  } finally {
    await hub.close();
    await folder.dispose();
  }
});
