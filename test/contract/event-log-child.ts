import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { MemberTask } from './event-log-member.ts';

const script = fileURLToPath(new URL('./event-log-member.ts', import.meta.url));

export type Child = {
  readonly pid: number;
  readonly lines: readonly string[];
  /** Resolves once the line was printed; rejects if the process ends before. */
  readonly said: (line: string) => Promise<void>;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves when the process is gone: its exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  readonly kill: () => Promise<void>;
};

/** Starts event-log-member.ts. `wrapper` comes before node on the command line. */
export function startChild(task: MemberTask, wrapper: readonly string[] = []): Child {
  const [command, ...args] = [...wrapper, process.execPath, script, JSON.stringify(task)];
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let errors = '';
  let gone = false;
  const look = () => {
    for (const check of [...waiting]) check();
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    look();
  });
  child.stderr.on('data', (data) => {
    errors += data;
  });
  const exited = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once('close', (code, signal) => {
      gone = true;
      resolve(signal ?? code ?? -1);
      look();
    }),
  );
  const signal = (name: NodeJS.Signals) => void child.kill(name);
  return {
    pid: child.pid!,
    lines,
    signal,
    exited,
    said: (line) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!gone && !lines.includes(line)) return;
          waiting.delete(check);
          if (lines.includes(line)) resolve();
          else reject(new Error(`the process ended before it said '${line}': ${errors}`));
        };
        waiting.add(check);
        check();
      }),
    kill: async () => {
      // A stopped process dies of SIGKILL too.
      if (!gone) signal('SIGKILL');
      await exited;
    },
  };
}
