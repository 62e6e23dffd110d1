import { readFileSync } from 'node:fs';

/**
 * Whether a process still runs. One that has ended but that its parent has not asked after yet (a zombie)
 * holds neither ports nor locks: those of a killed supervisor are the init process's, which may take seconds.
 */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !hasEnded(pid);
  } catch {
    return false;
  }
}

/** Linux tells: `<pid> (<name>) <state> ...`, where the 18th word from the state on is the number of threads. */
function hasEnded(pid: number): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return words[0] === 'Z' && Number(words[17]) <= 1;
  } catch {
    return false;
  }
}
