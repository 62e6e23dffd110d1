import { afterEach, beforeEach } from 'vitest';
import type { Topic } from '../../shared/events/define-event.ts';
import type { Position } from '../../shared/events/position.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { type Child, startChild } from './event-log-child.ts';
import type { MemberTask } from './event-log-member.ts';

/** One log that a test opens as often as it likes, in this process and in others. */
export type LogHarness = {
  readonly open: (options?: { readonly sessionTimeoutMs?: number }) => Promise<EventLog>;
  /** Appends a record as some other program might: its body need not be an event. */
  readonly inject: (topic: Topic, subject: string, body: string) => Promise<void>;
  /** Takes a record away, as a retention or a damaged disk might; on Kafka those before it go too. */
  readonly lose: (topic: Topic, at: Position) => Promise<void>;
  /** How a process of its own opens the same log; see event-log-member.ts. */
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
  /** Stops, at the end of the test, what it started with its signal. */
  readonly stop: AbortController;
  /** Starts a process of its own on the same log, and kills it at the end of the test. */
  readonly start: (task: MemberTask['task']) => Child;
  /** Such a process that folds as the group `ledgers` does. */
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
