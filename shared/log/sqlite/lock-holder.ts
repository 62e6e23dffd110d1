import { readFileSync, statSync } from 'node:fs';

/** SQLite's WAL write lock is byte 120 of the `-shm` file (wal.c, WAL_LOCK_OFFSET). */
const writeLockByte = 120;

/**
 * Who holds the write lock, in words for an error message: a process that was stopped in the middle of a
 * transaction keeps every other writer out until it goes on or dies, and only the operator can decide which.
 * Linux alone can tell; elsewhere 'by another process'.
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
