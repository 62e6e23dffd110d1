import type { CliConfig } from '../../../shared/config/cli.ts';
import { utcNow } from '../../../shared/runtime/clock.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { type DataFolder, dataFolder } from '../../../shared/runtime/data-folder.ts';
import { megabytes } from '../../../shared/runtime/megabytes.ts';
import { openCheckpoints } from '../../../shared/runtime/open-checkpoints.ts';
import { logExists } from '../../../shared/runtime/open-log.ts';
import { refuseForeignFolder } from '../../../shared/runtime/private-folder.ts';
import { INTERRUPTED } from '../../../shared/runtime/stop-on-signals.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import { backUpToBucket } from '../backup/back-up-to-bucket.ts';
import { checkpointsOf } from '../backup/checkpoint-source.ts';
import { bytesOf, type Manifest, recordsIn } from '../backup/manifest.ts';
import { withSource } from '../backup/open-log-place.ts';
import { withPlace } from '../backup/open-place.ts';
import { findPoint, type Point, type PointSource, readPoints } from '../backup/point-source.ts';
import { verifyPoint } from '../backup/read-point.ts';
import { runVisibly } from '../backup/run-visibly.ts';
import { type BackedUp, type Taken, takeBackup } from '../backup/take-backup.ts';
import type { Command } from '../command.ts';
import { ANY_WORDS, readOptions, wholeNumber } from '../options.ts';

/** The point is complete, but a checkpoint in use is not in it; or a point cannot be read. */
const LACKING = 1;

export const backup: Command = {
  name: 'backup',
  usage: 'FOLDER|s3://... [--keep-points N] | list FOLDER | verify FOLDER [--point P]',
  about:
    'copy log, checkpoints, keys and outbox to a folder or bucket while the services run; clawloop restore reads it',
  details: [
    ['FOLDER', 'add a point in time; checkpoints that the folder has already are not copied again'],
    [
      's3://BUCKET/PREFIX',
      'the same in a bucket, in place of FOLDER; see --s3-endpoint and CLAWLOOP_S3_ACCESS_KEY_ID',
    ],
    [
      '--keep-points N',
      'then keep the newest N points; remove older points and the checkpoints that only those points use',
    ],
    ['list FOLDER', 'show the points of a folder'],
    ['verify FOLDER', 'compare the files of a point with the digests in its manifest'],
    ['--point P', 'an id or a number that list shows; default: latest'],
    ['--json', 'list: print one JSON object per line'],
  ],
  run: async (argv) => {
    const [first = ''] = argv;
    if (first === 'list') return list(argv.slice(1));
    if (first === 'verify') return verify(argv.slice(1));
    return create(argv);
  },
};

async function create(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, { 'keep-points': { type: 'string' } }, ANY_WORDS);
  const keep = values['keep-points'];
  const keepPoints = keep === undefined ? undefined : wholeNumber(keep, '--keep-points');
  if (keepPoints === 0) throw new UsageError('--keep-points must be at least 1');
  const data = dataFolder(settings.dataFolder);
  if (!logExists(settings, data))
    throw new UsageError(`no log in ${data.root}: start ClawLoop there first, or give --data-folder`);
  await refuseForeignFolder(data.root);
  const time = utcNow();
  return withPlace([words, settings, 'backup FOLDER'], async (place) => {
    const taken = await runVisibly('No point was added; earlier points are intact', (options) =>
      withBackedUp(settings, data, (from) => {
        const all = { ...options, keepPoints, time };
        return place.kind === 'folder'
          ? takeBackup(from, place.folder, all)
          : backUpToBucket(from, place.bucket, all);
      }),
    );
    if (taken === undefined) return INTERRUPTED;
    printTaken(taken, place.source);
    return taken.manifest.missing.length === 0 ? 0 : LACKING;
  });
}

async function withBackedUp<Result>(
  settings: CliConfig,
  data: DataFolder,
  use: (from: BackedUp) => Promise<Result>,
): Promise<Result> {
  const checkpoints = openCheckpoints(settings, data);
  try {
    return await withSource(settings, data, (log) =>
      use({ data, log, checkpoints: checkpointsOf(checkpoints) }),
    );
  } finally {
    await checkpoints.close();
  }
}

function printTaken({ manifest, copied, bytes, removed }: Taken, { name }: PointSource): void {
  const there = manifest.checkpoints.length - copied;
  console.log(
    `${manifest.point}: ${recordsIn(manifest)} records, ${counted(manifest.checkpoints.length, 'checkpoint')}` +
      `${there === 0 ? '' : ` (${there} already there)`}; wrote ${megabytes(bytes)} to ${name}`,
  );
  for (const id of removed) console.log(`removed ${id}`);
  for (const line of missingLines(manifest)) console.error(line);
}

const missingLines = ({ missing }: Manifest): readonly string[] =>
  missing.map(
    ({ adapter, version, why }) =>
      `MISSING  v${version} of ${adapter} is in use, but its checkpoint is not in the backup: ${why}`,
  );

async function list(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, { json: { type: 'boolean' } }, ANY_WORDS);
  return withPlace([words, settings, 'backup list FOLDER'], async ({ source }) => {
    const points = await readPoints(source);
    if (points.length === 0) throw new UsageError(`there is no backup in ${source.name}`);
    if (values.json) for (const point of points) console.log(JSON.stringify(rowOf(point, source)));
    else print(points, source);
    return points.some((point) => 'damage' in point) ? LACKING : 0;
  });
}

function rowOf(point: Point, source: PointSource) {
  if ('damage' in point) return { point: point.id, damage: point.damage };
  const { manifest } = point;
  const { time, logId, versions, checkpoints, missing } = manifest;
  return {
    point: point.id,
    time,
    logId,
    records: recordsIn(manifest),
    versions,
    checkpoints: checkpoints.length,
    bytes: bytesOf(source.filesOf(manifest)),
    missing: missing.length,
  };
}

function print(points: readonly Point[], source: PointSource): void {
  const rows = points.map((point) => {
    const row = rowOf(point, source);
    if ('damage' in row) return [row.point, 'damaged'];
    const heads = Object.entries(row.versions).map(([adapter, head]) => `${adapter} v${head}`);
    const lacks = row.missing === 0 ? '' : `${counted(row.missing, 'checkpoint')} missing`;
    return [row.point, row.records, heads.join(', '), row.checkpoints, megabytes(row.bytes), lacks];
  });
  console.log(formatTable(['point', 'records', 'head', 'checkpoints', 'size', ''], rows));
  for (const point of points) if ('damage' in point) console.error(point.damage);
}

async function verify(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, { point: { type: 'string' } }, ANY_WORDS);
  return withPlace([words, settings, 'backup verify FOLDER'], async ({ source }) => {
    const id = await findPoint(source, values.point ?? 'latest');
    const manifest = await source.manifest(id);
    const verified = await runVisibly('Nothing was changed', async (options) => {
      await verifyPoint(source, manifest, options);
      return source.filesOf(manifest);
    });
    if (verified === undefined) return INTERRUPTED;
    console.log(
      `${id}: ${counted(verified.length, 'file')}, ${megabytes(bytesOf(verified))}, all as written`,
    );
    for (const line of missingLines(manifest)) console.error(line);
    return manifest.missing.length === 0 ? 0 : LACKING;
  });
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
