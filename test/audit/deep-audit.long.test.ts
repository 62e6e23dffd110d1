import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { auditedFolds as ofCollector } from '../../services/collector/audited-folds.ts';
import { auditedFolds as ofJudge } from '../../services/judge/audited-folds.ts';
import { deepAudit } from '../../shared/log/deep-audit.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { clawloop } from '../e2e/harness/clawloop.ts';
import { makeSmallLog, tamper } from './small-log.ts';

let whole: string;

beforeAll(async () => {
  whole = await mkdtemp(join(tmpdir(), 'clawloop-deep-audit-'));
  await makeSmallLog(dataFolder(whole).log);
});
afterAll(() => rm(whole, { recursive: true, force: true }));

/** A copy of the data folder, in which `change` was done to the file of the log. */
async function copyWith(change: (logFolder: string) => void): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-deep-audit-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(whole, folder, { recursive: true });
  change(dataFolder(folder).log);
  return folder;
}

/** By group: what the audit of such a copy finds. */
async function auditAfter(change: (logFolder: string) => void) {
  const log = await openSqliteLog({ folder: dataFolder(await copyWith(change)).log });
  try {
    const reports = [...(await deepAudit(log, ofCollector)), ...(await deepAudit(log, ofJudge))];
    return Object.fromEntries(reports.map((report) => [report.group, report]));
  } finally {
    await log.close();
  }
}

const update = (logFolder: string, sql: string): void => {
  const db = new DatabaseSync(join(logFolder, 'log.sqlite'), { timeout: 10_000 });
  try {
    expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
  } finally {
    db.close();
  }
};

const editVerdict = (logFolder: string): void =>
  tamper(logFolder, 'turns', 'c1/judgment', (body) => body.replace('"score":1', '"score":-1'));

test('an untouched log gives the same facts and rows again, without the record that was set aside', async () => {
  const reports = await auditAfter(() => undefined);
  for (const group of ['attribute', 'assemble', 'submit', 'judge']) {
    expect(reports[group]).toMatchObject({ group, differences: [], unknown: [] });
    expect([group, reports[group]!.facts > 0, reports[group]!.rows > 0]).toEqual([group, true, true]);
  }
  expect(Object.values(reports).map(({ group, setAside }) => [group, setAside])).toEqual([
    ['attribute', 0],
    ['assemble', 1],
    ['submit', 0],
    ['judge', 1],
  ]);
});

test('a record that was set aside is passed over, although it can be read now', async () => {
  const reports = await auditAfter((folder) =>
    tamper(folder, 'turns', 'c2/vote/0', (body) => body.replace('"none":0', '"milliseconds":0')),
  );
  expect(Object.values(reports).flatMap(({ differences }) => differences)).toEqual([]);
});

test('an edited verdict is named with its place and field', async () => {
  const { judge, attribute } = await auditAfter(editVerdict);
  expect(judge!.differences).toEqual([
    expect.stringMatching(/^judgment\.reached c1\/judgment at turns\/\d\/\d+: data\.score differs$/),
  ]);
  expect(attribute!.differences).toEqual([]);
});

test('a removed turn is named with the record that it comes from, and so is what followed from it', async () => {
  const { attribute, judge } = await auditAfter((folder) =>
    tamper(folder, 'turns', 'c1/completed', () => undefined),
  );
  expect(attribute!.differences).toEqual([
    expect.stringMatching(
      /^turn\.completed c1\/completed is missing in turns: attribute makes it from conversations\/\d\/\d+$/,
    ),
  ]);
  expect(judge!.differences).toContainEqual(
    expect.stringMatching(/^judgment\.reached c1\/judgment at turns\/\d\/\d+: no fold makes it$/),
  );
});

test('a sample that no fold makes is named, and none that a fold of the same audit makes', async () => {
  const { assemble, submit } = await auditAfter((folder) =>
    tamper(folder, 'training', 'a1/ready', (body) => body.replaceAll('a1/ready', 'a9/ready')),
  );
  expect(assemble!.differences).toContainEqual(
    expect.stringMatching(/^sample\.ready a9\/ready at training\/\d\/\d+: no fold makes it$/),
  );
  expect(assemble!.differences).toContainEqual(expect.stringContaining('a1/ready is missing in training'));
  expect(submit!.differences.filter((one) => one.startsWith('sample.'))).toEqual([]);
});

test('a fact that is committed while the audit reads is not missing', async () => {
  const log = await openSqliteLog({ folder: dataFolder(whole).log });
  let readings = 0;
  const follow: EventLog['follow'] = (topic, from, onRecord, { signal, wants }) => {
    const isFirst = topic === 'turns' && wants !== undefined && readings++ === 0;
    const hides = (record: Recorded) => isFirst && record.event.id === 'c1/judgment';
    return log.follow(topic, from, (record) => hides(record) || onRecord(record), { signal, wants });
  };
  try {
    expect(await deepAudit({ ...log, follow }, ofJudge)).toMatchObject([{ differences: [] }]);
    expect(readings).toBe(2);
  } finally {
    await log.close();
  }
});

test('an edited row is named', async () => {
  const { judge } = await auditAfter((folder) =>
    update(
      folder,
      `UPDATE rows SET row = '{"needs":7}' WHERE key LIKE 'settled%'
      AND subscription = (SELECT id FROM subscriptions WHERE grp = 'judge')`,
    ),
  );
  expect(judge!.differences[0]).toMatch(/^row \w settled\S* of judge at turns\/\d\/\d+: \S+ differs$/);
});

test('where the settings of a stretch are not known, it cannot tell', async () => {
  const { judge } = await auditAfter((folder) =>
    update(
      folder,
      `DELETE FROM stretches WHERE subscription = (SELECT id FROM subscriptions WHERE grp = 'judge')`,
    ),
  );
  expect(judge).toMatchObject({ differences: [], unknown: [expect.stringContaining('which settings')] });
});

test('where first records of a topic were trimmed, it cannot tell', async () => {
  const log = await openSqliteLog({ folder: dataFolder(await copyWith(() => undefined)).log });
  try {
    const trimmed = {
      ...log,
      starts: async (topic: string) => (topic === 'turns' ? [0, 3] : [0, 0]),
    };
    expect(await deepAudit(trimmed, ofJudge)).toMatchObject([
      { differences: [], unknown: ['the first records of turns were trimmed'] },
    ]);
  } finally {
    await log.close();
  }
});

test('rows of another version are not compared, and the report says what to do', async () => {
  const { judge } = await auditAfter((folder) =>
    update(folder, `INSERT INTO row_versions SELECT id, 0, 2 FROM subscriptions WHERE grp = 'judge'`),
  );
  expect(judge).toMatchObject({
    differences: [],
    unknown: [expect.stringMatching(/^the rows of judge for turns\/0 have version 2, .*: update it$/)],
  });
});

test('the command says 0 where all is the same, and 1 with the differences where something is not', async () => {
  const same = await clawloop(['audit', '--deep', '--data-folder', whole]);
  expect([same.code, same.stderr, same.stdout.trim().split('\n')]).toEqual([
    0,
    '',
    [
      ...['attribute', 'assemble', 'submit', 'judge', 'trainer'].map((group) =>
        expect.stringMatching(new RegExp(`^${group}: .*; differences: 0$`)),
      ),
      'a rebuild gives the same events and rows',
    ],
  ]);
  const { code, stdout } = await clawloop(['audit', '--deep', '--data-folder', await copyWith(editVerdict)]);
  expect(code).toBe(1);
  expect(stdout).toContain('DIFFERENT  judgment.reached c1/judgment at turns/');
});
