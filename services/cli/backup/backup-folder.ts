import { join, resolve } from 'node:path';
import { markerName } from './marker.ts';

/** A disk of its own has this folder, which belongs to the file system. */
export const OF_A_DISK = 'lost+found';

/** Paths in a backup folder. Only complete things have their final names. */
export type BackupFolder = ReturnType<typeof backupFolder>;

export const backupFolder = (path: string) => {
  const root = resolve(path);
  return {
    root,
    /** marks the folder as a backup, and names its log */
    marker: join(root, markerName),
    /** locked by the backup that writes here */
    lock: join(root, '.lock'),
    /** what a backup is writing or removing; anybody may delete it while no backup runs */
    unfinished: join(root, '.unfinished'),
    /** a folder per point in time */
    points: join(root, 'points'),
    point: (id: string) => join(root, 'points', id),
    manifest: (id: string) => join(root, 'points', id, manifestName),
    /** shared by the points: a folder per adapter, with a folder per checkpoint */
    checkpoints: join(root, 'checkpoints'),
  };
};

export const manifestName = 'manifest.json';
/** in the format of sha256sum */
export const checksumName = 'manifest.json.sha256';

const idPattern = /^(\d{4,})-\d{8}T\d{6}Z$/;

/** Points count up, since the clock may go back: `0007-20260301T120000Z`. */
export const pointId = (number: number, time: string): string =>
  `${String(number).padStart(4, '0')}-${time.replace(/[-:]|\.\d+/g, '')}`;

/** Undefined: not the name of a point. */
export function numberOfPoint(id: string): number | undefined {
  const digits = idPattern.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** A checkpoint's place below the backup folder. One that was trained again elsewhere has another digest. */
export const placeOfCheckpoint = ({ adapter, name, digest }: NamedCheckpoint): string =>
  join('checkpoints', adapter, `${name}-${digest.slice(0, 12)}`);

/** A checkpoint as the log names it. */
export type NamedCheckpoint = {
  readonly adapter: string;
  readonly version: number;
  readonly name: string;
  readonly digest: string;
};
