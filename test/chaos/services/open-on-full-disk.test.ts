import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../shared/config/common.ts';
import { LogConfig } from '../../../shared/config/log.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { openLog } from '../../../shared/runtime/open-log.ts';
import { feedback, ledger, untilLevel } from '../../contract/event-log-fixtures.ts';
import { requiresAll } from './config.ts';
import { shrinkLog } from './inject.ts';
import { canMount, mountSmallDisk } from './small-disk.ts';

test.skipIf(!canMount() && !requiresAll())(
  'a service that starts while the disk is full waits for space, and so do its folds',
  async () => {
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
      disk.fill(() => shrinkLog(folder));
      const stop = new AbortController();
      const done = log.process(ledger, { group: 'ledgers', settings: { label: 'one' } }, stop.signal);
      const written = log.append([feedback('lane', 'a', 'b')]).catch((error: Error) => error.name);
      expect(await written).toBe('LogUnavailable');
      disk.makeRoom();
      await log.append([feedback('lane', 'c', 'd')]);
      await untilLevel(log, 'ledgers');
      stop.abort();
      await done;
      await log.close();
    } finally {
      await disk.remove();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
