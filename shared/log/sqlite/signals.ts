import { closeSync, type FSWatcher, openSync, watch, writeSync } from 'node:fs';
import { join } from 'node:path';

export type SignalName = 'records' | 'groups';

export type Signals = {
  /** Wakes every process that has the log open, this one included. */
  readonly send: (name: SignalName) => void;
  readonly close: () => void;
};

/**
 * A write to a watched file (inotify, FSEvents) wakes the other processes; the byte has no meaning. Signals may be
 * merged or lost, so a waiting process also checks once per second.
 */
export function openSignals(folder: string, onSignal: (name: SignalName) => void): Signals {
  let closed = false;
  const open = (name: SignalName) => {
    const path = join(folder, `${name}.signal`);
    closeSync(openSync(path, 'a'));
    const file = openSync(path, 'r+');
    let watcher: FSWatcher | undefined;
    let pending = false;
    try {
      watcher = watch(path, { persistent: false }, () => {
        if (pending) return;
        pending = true;
        setImmediate(() => {
          pending = false;
          if (!closed) onSignal(name);
        });
      });
      watcher.on('error', () => watcher?.close());
    } catch {
      // No watches left (fs.inotify.max_user_watches): the check once per second remains.
    }
    return { file, watcher };
  };
  const opened = { records: open('records'), groups: open('groups') };
  return {
    send: (name) => {
      try {
        writeSync(opened[name].file, '.', 0);
      } catch {
        // The disk is full: the other processes check within a second anyway.
      }
    },
    close: () => {
      closed = true;
      for (const { file, watcher } of Object.values(opened)) {
        watcher?.close();
        closeSync(file);
      }
    },
  };
}
