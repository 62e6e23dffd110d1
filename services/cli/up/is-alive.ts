import { readFileSync } from 'node:fs';

/**
 * Whether a process still runs. A zombie counts as ended: it holds neither ports nor locks. After a supervisor
 * is killed, the init process may take seconds to reap its services.
 */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !hasEnded(pid);
  } catch {
    return false;
  }
}

/** Linux: `<pid> (<name>) <state> ...`; the 18th word, counted from the state, is the number of threads. */
function hasEnded(pid: number): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return words[0] === 'Z' && Number(words[17]) <= 1;
  } catch {
    return false;
  }
}
