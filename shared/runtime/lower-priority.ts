import { constants, setPriority } from 'node:os';

/** Lowers a process's priority below that of the services, because chats come first. Default: this process. */
export function lowerPriority(pid = 0): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // the process has ended, or the system forbids it; the work only competes with the services
  }
}
