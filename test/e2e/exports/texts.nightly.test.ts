import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { exportTrajectories } from '../../../clients/export/atif.ts';
import { exportHfRows } from '../../../clients/export/hf-rows.ts';
import { parquetOf } from '../../../clients/export/parquet.ts';
import { environmentOf, pythonPackages } from '../../conformance/python-packages.ts';
import { agentSession, rewrittenSession, session } from './agent-session.ts';

const beside = (name: string) => fileURLToPath(new URL(name, import.meta.url));
// Harbor requires a newer Python and two hundred packages; its trajectory models need neither.
const harbor = await pythonPackages(
  beside('./requirements-harbor.txt'),
  ['harbor.models.trajectories.trajectory'],
  ['--no-deps', '--ignore-requires-python'],
);
const datasets = await pythonPackages(beside('./requirements-datasets.txt'), ['datasets', 'pyarrow']);
const linesOf = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

describe.skipIf(harbor.missing !== undefined)(`Harbor ${harbor.missing ?? ''}`, () => {
  test('its models accept every trajectory', () => {
    const all = [agentSession, rewrittenSession].flatMap((nodes) => exportTrajectories(session, nodes).lines);
    const out = execFileSync('python3', [beside('./check_trajectories.py')], {
      env: environmentOf(harbor),
      input: linesOf(all),
    });
    const read = out.toString().trim().split('\n');
    expect(read.map((line) => JSON.parse(line) as unknown)).toEqual([
      ['ATIF-v1.8', 'c', 6, ['search', 'search']],
      ['ATIF-v1.8', 'd', 6, ['search', 'search']],
      ['ATIF-v1.8', 'b', 8, []],
    ]);
  });
});

describe.skipIf(datasets.missing !== undefined)(`Hugging Face datasets ${datasets.missing ?? ''}`, () => {
  test('JSONL and Parquet give the same columns and rows', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-datasets-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const [jsonl, parquet] = [join(folder, 'rows.jsonl'), join(folder, 'rows.parquet')];
    const rows = exportHfRows(session, agentSession).lines;
    await writeFile(jsonl, linesOf(rows));
    await writeFile(parquet, parquetOf(rows));
    const cache = join(folder, 'cache');
    const out = execFileSync('python3', [beside('./load_rows.py'), jsonl, parquet, cache], {
      env: { ...environmentOf(datasets), HF_HUB_OFFLINE: '1', HF_HOME: cache },
    });
    const plain = JSON.parse(JSON.stringify(rows)) as unknown;
    const columns = Object.keys(rows[0]!);
    for (const loaded of JSON.parse(out.toString()) as readonly object[])
      expect(loaded).toEqual({ columns, rows: plain });
  });
});
