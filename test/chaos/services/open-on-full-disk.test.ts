import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../shared/service/config.ts';
import { dataFolder } from '../../../shared/service/data-folder.ts';
import { LogConfig } from '../../../shared/service/log-config.ts';
import { openLog } from '../../../shared/service/open-log.ts';
import { canMount, mountSmallDisk } from './small-disk.ts';

test.skipIf(!canMount())('a service that starts while the disk is full waits for room', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-full-'));
  const data = dataFolder(folder);
  const disk = await mountSmallDisk(data.log, 32);
  try {
    const config = loadConfig('cli', LogConfig, []).values;
    const { logId, close } = await openLog(config, data);
    await close();
    disk.fill(() => undefined);
    await expect(openLog(config, data)).rejects.toMatchObject({ name: 'LogUnavailable' });
    const waits: string[] = [];
    const log = await openLog(config, data, {
      onWaiting: (forWhat, reason) => {
        waits.push(`${forWhat}: ${reason}`);
        disk.makeRoom();
      },
    });
    expect(log.logId).toBe(logId);
    expect(waits).toEqual([expect.stringContaining('full')]);
    await log.close();
  } finally {
    await disk.remove();
    await rm(folder, { recursive: true, force: true });
  }
});
