import { afterEach, beforeEach } from 'vitest';
import type { Topic } from '../../shared/events/define-event.ts';
import type { Position } from '../../shared/events/position.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { type Child, startChild } from './event-log-child.ts';
import type { MemberTask } from './event-log-member.ts';

/** One log that a test opens as often as it likes, in this process and in others. */
export type LogHarness = {
  readonly open: (options?: { readonly sessionTimeoutMs?: number }) => Promise<EventLog>;
  /** Appends a record as another program may: its body need not be an event. */
  readonly inject: (topic: Topic, subject: string, body: string) => Promise<void>;
  /** Deletes a record, as retention or a damaged disk may; on Kafka also the records before it. */
  readonly lose: (topic: Topic, at: Position) => Promise<void>;
  /** How another process opens the same log; see event-log-member.ts. */
  readonly opener: string;
  readonly connection: unknown;
  readonly sessionTimeoutMs: number;
  /** No offset is ever left out. */
  readonly hasDenseOffsets: boolean;
  /** Closes every log that was opened, and removes everything. */
  readonly dispose: () => Promise<void>;
};

export type LogForEach<Harness extends LogHarness = LogHarness> = {
  readonly harness: Harness;
  /** Aborts at the end of the test; pass its signal to everything that the test starts. */
  readonly stop: AbortController;
  /** Starts another process on the same log, and kills it at the end of the test. */
  readonly start: (task: MemberTask['task']) => Child;
  /** The same, for a process that folds as the group `ledgers`. */
  readonly member: () => Child;
};

/** Each test of a suite has a log of its own. */
export function logForEach<Harness extends LogHarness>(
  makeHarness: () => Promise<Harness>,
): LogForEach<Harness> {
  const on = {} as { -readonly [Name in keyof LogForEach]: LogForEach<Harness>[Name] };
  let children: Child[];
  beforeEach(async () => {
    on.harness = await makeHarness();
    on.stop = new AbortController();
    children = [];
  });
  afterEach(async () => {
    on.stop.abort();
    await Promise.all(children.map((child) => child.kill()));
    await on.harness.dispose();
  });
  on.start = (task) => {
    const { opener, connection } = on.harness;
    const child = startChild({ opener, connection, task });
    children.push(child);
    return child;
  };
  on.member = () => on.start({ kind: 'process', group: 'ledgers', label: 'one' });
  return on;
}
