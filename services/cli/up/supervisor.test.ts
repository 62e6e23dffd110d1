import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../../shared/service/data-folder.ts';
import { supervise } from './supervisor.ts';

test('a folder of sessions that goes bad while all runs stops nobody, and why stands there', async () => {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-supervisor-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await (await openSqliteLog({ folder: dataFolder(root).log })).close();
  const into = join(root, 'rewarded');
  const pids: number[] = [];
  const notices: string[] = [];
  const refused = vi.fn();
  const exporter = supervise(
    'sessions-export',
    { flags: ['--data-folder', root, '--into', into], secrets: {}, logFolder: root, isBeside: true },
    {
      runs: (_, pid) => void (pid !== undefined && pids.push(pid)),
      notice: (_, line) => void notices.push(line),
      ...{ said: () => {}, refused },
    },
  );
  onTestFinished(exporter.stop);
  const patience = { timeout: 30_000, interval: 20 };
  await vi.waitFor(() => access(into), patience); // it runs
  await rm(into, { recursive: true });
  await writeFile(into, 'no folder');
  process.kill(pids[0]!, 'SIGKILL');
  await vi.waitFor(() => expect(notices.join('\n')).toContain('cannot be written'), patience);
  expect(refused).not.toHaveBeenCalled();
  await rm(into);
  await vi.waitFor(() => access(into), patience); // and goes on
}, 90_000);
