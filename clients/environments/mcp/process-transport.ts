import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ReadBuffer, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { pause } from '../../../shared/lang/async.ts';
import type { ProcessServer } from './server-list.ts';

/** ms for a server to end after its input ended, and again after SIGTERM */
const GRACE_MS = 500;
/** characters of its error output that are kept */
const KEPT = 400;

/** The process of a server. */
export type ServerProcess = {
  readonly transport: Transport;
  /** How the process ended and the end of its error output; undefined: it runs. */
  readonly ending: () => string | undefined;
};

/**
 * Speaks MCP with a process of its own process group. The SDK's own transport ends the process only: a server that
 * `npx` started would outlive its attempt. Only the variables that every program needs are inherited: the
 * settings of ClawLoop contain keys.
 */
export function processTransport(server: ProcessServer): ServerProcess {
  const received = new ReadBuffer();
  let child: ChildProcess | undefined;
  let complaint = '';
  let ending: string | undefined;
  const details = () => (complaint.trim() === '' ? '' : `: ${complaint.trim()}`);
  const transport: Transport = {
    start: async () => {
      const started = spawn(server.command, server.args, {
        env: { ...getDefaultEnvironment(), ...server.env },
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
        ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
      });
      child = started;
      if (started.pid !== undefined) running.add(started.pid);
      started.stderr.on('data', (part: Buffer) => {
        complaint = (complaint + part.toString()).slice(-KEPT);
      });
      started.stdin.on('error', () => {}); // the server ended; `close` reports it
      started.stdout.on('data', (part: Buffer) => {
        try {
          received.append(part);
          readAll(received, transport);
        } catch (error) {
          ending ??= (error as Error).message; // a message above the SDK's limit of 10 MB
          signalGroup(started.pid!, 'SIGKILL');
        }
      });
      started.on('close', (code, signal) => {
        ending ??= `it ended with ${signal ?? `exit code ${code}`}${details()}`;
        transport.onclose?.();
      });
      await once(started, 'spawn').catch((error: Error) => {
        ending = error.message;
        throw error;
      });
    },
    send: async (message) => {
      if (child === undefined || ending !== undefined) throw new Error(ending ?? 'it is not started');
      child.stdin!.write(serializeMessage(message));
    },
    close: async () => {
      if (child?.pid !== undefined) await endGroup(child, child.pid);
    },
  };
  return { transport, ending: () => ending };
}

/** Lines that are not of the protocol are passed over: many servers greet on their output. */
function readAll(received: ReadBuffer, transport: Transport): void {
  for (;;) {
    try {
      const message = received.readMessage();
      if (message === null) return;
      transport.onmessage?.(message);
    } catch (error) {
      transport.onerror?.(error as Error);
    }
  }
}

/** Process groups that this process has started. */
const running = new Set<number>();
// A rollout that is stopped at once closes no environment.
process.on('exit', () => {
  for (const group of running) signalGroup(group, 'SIGKILL');
});

/** As the protocol asks: its input ends, then SIGTERM, then SIGKILL, which also gets the processes it started. */
async function endGroup(child: ChildProcess, group: number): Promise<void> {
  running.delete(group);
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  child.stdin!.end();
  await inTime(ended);
  signalGroup(group, 'SIGTERM');
  await inTime(ended);
  signalGroup(group, 'SIGKILL');
  await ended;
}

async function inTime(ended: Promise<unknown> | undefined): Promise<void> {
  const enough = new AbortController();
  await Promise.race([ended, pause(GRACE_MS, enough.signal)]);
  enough.abort();
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // the group has ended
  }
}
