import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export type SmallDisk = {
  readonly folder: string;
  /** Leaves not one byte free. */
  readonly fill: () => void;
  readonly makeRoom: () => void;
  readonly remove: () => void;
};

const BLOCK = Buffer.alloc(2 ** 20);

/** Whether this process may mount a disk of its own. */
export const canMount = (): boolean => process.platform === 'linux' && process.getuid?.() === 0;

/** A disk in memory, mounted at the folder. It goes with the process at the latest. @throws when it cannot be mounted */
export function mountSmallDisk(folder: string, megabytes: number): SmallDisk {
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  if (status !== 0) throw new Error(`no disk could be mounted at ${folder}: ${stderr}`);
  const ballast = join(folder, 'ballast');
  const remove = () => {
    process.off('exit', remove);
    spawnSync('umount', ['--lazy', folder]);
  };
  process.once('exit', remove);
  return {
    folder,
    fill: () => {
      for (const size of [BLOCK.length, 4_096, 1]) appendUntilFull(ballast, BLOCK.subarray(0, size));
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    remove,
  };
}

function appendUntilFull(path: string, block: Buffer): void {
  try {
    for (;;) appendFileSync(path, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
