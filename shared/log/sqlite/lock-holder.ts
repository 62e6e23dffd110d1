import { readFileSync, statSync } from 'node:fs';

/** SQLite's WAL write lock is byte 120 of the `-shm` file (wal.c, WAL_LOCK_OFFSET). */
const writeLockByte = 120;

/**
 * The owner of the write lock, for an error message. A process that is suspended during a transaction blocks all
 * other writers until it continues or ends, and only the operator can do that. Systems other than Linux do not
 * report the owner: 'by another process'.
 */
export function lockHolder(file: string): string {
  try {
    const inode = statSync(`${file}-shm`).ino;
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [, , , mode, pid, place, first, last] = line.trim().split(/\s+/);
      if (mode !== 'WRITE' || pid === undefined || place?.split(':').at(-1) !== String(inode)) continue;
      if (Number(first) > writeLockByte || Number(last) < writeLockByte) continue;
      return `by process ${pid}${isStopped(pid) ? ', which is stopped (SIGSTOP): continue it or end it' : ''}`;
    }
  } catch {
    // No /proc here.
  }
  return 'by another process';
}

const isStopped = (pid: string): boolean => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
