import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { supervise } from './supervisor.ts';

test('an export folder that breaks while services run stops no service, and the notice says why', async () => {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-supervisor-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await (await openSqliteLog({ folder: dataFolder(root).log })).close();
  const into = join(root, 'rewarded');
  const pids: number[] = [];
  const notices: string[] = [];
  const refused = vi.fn();
  const exporter = supervise(
    'sessions-export',
    {
      flags: ['--data-folder', root, '--into', into],
      secrets: {},
      logFolder: root,
      logLimits: { mostBytes: 2 ** 20, files: 2 },
      isOptional: true,
    },
    {
      runs: (_, pid) => void (pid !== undefined && pids.push(pid)),
      notice: (_, line) => void notices.push(line),
      output: () => {},
      refused,
    },
  );
  onTestFinished(exporter.stop);
  const patience = { timeout: 30_000, interval: 20 };
  await vi.waitFor(() => access(into), patience); // the exporter runs
  await rm(into, { recursive: true });
  await writeFile(into, 'no folder');
  process.kill(pids[0]!, 'SIGKILL');
  await vi.waitFor(() => expect(notices.join('\n')).toContain('cannot write'), patience);
  expect(refused).not.toHaveBeenCalled();
  await rm(into);
  await vi.waitFor(() => access(into), patience); // the exporter continues
}, 90_000);
