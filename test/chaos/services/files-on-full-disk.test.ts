import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderWriter } from '../../../clients/export/folder-writer.ts';
import { openSessionSecret } from '../../../services/serving/sessions/session-secret.ts';
import { requiresAll } from './config.ts';
import { canMount, mountSmallDisk } from './small-disk.ts';

test.skipIf(!canMount() && !requiresAll())(
  'a secret or an export that does not fit on the disk leaves nothing behind, and is written once there is space',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-full-files-'));
    const place = join(folder, 'disk');
    const disk = await mountSmallDisk(place, 8);
    const own = async () => (await readdir(place)).filter((name) => /secret|cook/.test(name));
    try {
      const writer = await folderWriter(place);
      disk.fill(() => undefined);
      const secret = join(place, 'secret');
      await expect(openSessionSecret(secret, undefined)).rejects.toMatchObject({ code: 'ENOSPC' });
      const lines = [{ input_ids: Array.from({ length: 5_000 }, (_, id) => id) }];
      await expect(writer.write(lines, 'cook-1')).rejects.toThrow('ENOSPC');
      expect(await own()).toEqual([]);
      disk.makeRoom();
      expect(await openSessionSecret(secret, undefined)).toHaveLength(32);
      await writer.write(lines, 'cook-1');
      expect((await own()).sort()).toEqual(['cook-1.jsonl', 'secret']);
      expect(JSON.parse(await readFile(join(place, 'cook-1.jsonl'), 'utf8'))).toEqual(lines[0]);
    } finally {
      await disk.remove();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
