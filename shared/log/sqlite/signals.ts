import { closeSync, type FSWatcher, openSync, watch, writeSync } from 'node:fs';
import { join } from 'node:path';

export type SignalName = 'records' | 'groups';

export type Signals = {
  /** Wakes every process that has the log open, this one included. */
  readonly send: (name: SignalName) => void;
  readonly close: () => void;
};

/**
 * A write to a watched file (inotify, FSEvents) wakes the others; the byte itself means nothing. A signal may
 * be lost, so whoever waits also looks once per second. Several signals at once are one.
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
      // No watches left (fs.inotify.max_user_watches): the look once per second remains.
    }
    return { file, watcher };
  };
  const opened = { records: open('records'), groups: open('groups') };
  return {
    send: (name) => {
      try {
        writeSync(opened[name].file, '.', 0);
      } catch {
        // A full disk: the others find out within a second.
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
