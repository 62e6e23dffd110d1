import { constants, setPriority } from 'node:os';

/** Chats come first: the process gets the processor when the services do not want it. Default: this process. */
export function lowerPriority(pid = 0): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // the process has ended, or the system forbids it; it works all the same
  }
}
