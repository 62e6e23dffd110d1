import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

export type SmallDisk = {
  /** Fills the disk completely; calls `atLast` when little space is left. */
  readonly fill: (atLast: () => void) => void;
  readonly makeRoom: () => void;
  readonly remove: () => Promise<void>;
};

const BLOCK = Buffer.alloc(2 ** 20);
const LITTLE = 16 * 2 ** 20;

/** Whether this process may mount a disk. */
export const canMount = (): boolean => process.platform === 'linux' && process.getuid?.() === 0;

/** $0: folder, $1: size. Unmounts the disk when its input ends, which the kernel closes however its owner ends. */
const keeper = `
  trap '' TERM INT HUP
  mount -t tmpfs -o "size=$1" tmpfs "$0" && echo mounted && cat > /dev/null && umount --lazy "$0"
`;

/** A disk in memory, mounted at the folder. @throws when it cannot be mounted */
export async function mountSmallDisk(folder: string, megabytes: number): Promise<SmallDisk> {
  mkdirSync(folder, { recursive: true });
  const child = spawn('sh', ['-c', keeper, folder, `${megabytes}m`], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const isMounted = await Promise.race([
    once(child.stdout, 'data').then(() => true),
    ended.then(() => false),
  ]);
  if (!isMounted) throw new Error(`no disk could be mounted at ${folder}`);
  const ballast = join(folder, 'ballast');
  return {
    fill: (atLast) => {
      while (free(folder) > LITTLE) appendFileSync(ballast, BLOCK);
      atLast();
      for (const size of [BLOCK.length, 4_096, 1]) appendUntilFull(ballast, BLOCK.subarray(0, size));
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    remove: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

function free(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function appendUntilFull(path: string, block: Buffer): void {
  try {
    for (;;) appendFileSync(path, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
