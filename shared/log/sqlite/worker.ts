import { parentPort, workerData } from 'node:worker_threads';
import { type Topic, topics } from '../../events/define-event.ts';
import { cannotBeOpened, isBusy, isPassing, openDatabase } from './database.ts';
import { openGroups } from './groups.ts';
import { inTurns } from './in-turns.ts';
import { lockHolder } from './lock-holder.ts';
import { openMembership } from './membership.ts';
import { openPresence } from './presence.ts';
import {
  type CallName,
  type Calls,
  type FromWorker,
  monotonicMs,
  type RecordColumns,
  type ToWorker,
  type WorkerOptions,
} from './protocol.ts';
import { openRecords, pack } from './records.ts';
import { openSignals } from './signals.ts';
import { openWriteQueue, type Steps, type Touched } from './write-queue.ts';

/** The thread that owns the connection: SQLite's calls block, and no HTTP request is to wait for a disk. */
const options = workerData as WorkerOptions;
const port = parentPort!;
/** Soon, unlike from the other side: a commit of a millisecond may be next. */
const send = inTurns<FromWorker>(process.nextTick, (messages) => port.postMessage(messages));

try {
  const onStep: Steps =
    options.stepsModule === undefined ? () => undefined : (await import(options.stepsModule)).onStep;
  start(onStep);
} catch (error) {
  send({ kind: 'failed', error: sent(isPassing(error) ? cannotBeOpened(error) : error) });
}

function start(onStep: Steps): void {
  const tickMs = Math.min(1_000, options.sessionTimeoutMs / 6);
  const database = openDatabase(options.file, options.partitions);
  const { db, logId, partitions } = database;
  const records = openRecords(database);
  const groups = openGroups(database, records, onStep);
  const presence = openPresence(options.folder, options.sessionTimeoutMs, tickMs);
  const signals = openSignals(options.folder, (name) =>
    name === 'records' ? refresh() : void membership.reconcile(),
  );
  const queue = openWriteQueue(db, {
    onBegun: records.begin,
    onWritten: records.seal,
    onCommitted: announce,
    onStep,
    lockedBy: () => lockHolder(options.file),
  });
  const membership = openMembership({
    database,
    queue,
    presence,
    onLeases: (member, leases) => send({ kind: 'leases', member, leases }),
  });

  const dataVersion = db.prepare('PRAGMA data_version');
  const known = new Map<Topic, readonly number[]>();
  let seenVersion: unknown;

  function announce(touched: Touched): void {
    if (sendMoved()) signals.send('records');
    if (touched.groups) {
      void membership.reconcile();
      signals.send('groups');
    }
  }

  function sendEnds(of: readonly Topic[]): void {
    const changed = of.flatMap((topic) => {
      const ends = records.ends(topic);
      if (known.get(topic)?.join() === ends.join()) return [];
      known.set(topic, ends);
      return [[topic, ends] as const];
    });
    if (changed.length > 0) send({ kind: 'ends', ends: changed });
  }

  /** False: the transaction appended nothing. */
  function sendMoved(): boolean {
    const changed = new Map<Topic, readonly number[]>();
    for (const { topic, partition, end } of records.moved())
      changed.set(
        topic,
        (changed.get(topic) ?? known.get(topic) ?? records.ends(topic)).with(partition, end),
      );
    for (const [topic, ends] of changed) known.set(topic, ends);
    if (changed.size > 0) send({ kind: 'ends', ends: [...changed] });
    return changed.size > 0;
  }

  /** Other processes' commits show as a new data version; asking for it costs no disk access. */
  function refresh(): void {
    try {
      const version = dataVersion.get()!.data_version;
      if (version === seenVersion) return;
      sendEnds(topics);
      seenVersion = version;
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  }

  const ticking = setInterval(() => {
    presence.beat();
    refresh();
    void membership.reconcile({ look: true });
  }, tickMs);

  const handlers: { readonly [Name in CallName]: (request: Calls[Name]['request']) => unknown } = {
    append: ({ records: asked, deadline }) => {
      const packed = pack(asked);
      const write = () => {
        records.append(packed);
        onStep('records');
        return null;
      };
      return queue.write(write, { deadline, bytes: sizeOf(asked) });
    },
    commit: ({ deadline, ...commit }) => {
      const packed = pack(commit.records);
      const write = () => groups.commit(commit, packed);
      return queue.write(write, { deadline, bytes: sizeOf(commit.records) });
    },
    fetch: ({ topic, partition, from, maxRecords, maxBytes }) =>
      records.fetch(topic, partition, from, maxRecords, maxBytes),
    skim: ({ topic, partition, from, maxRecords }) => records.skim(topic, partition, from, maxRecords),
    read: ({ topic, positions }) => positions.map((at) => records.read(topic, at)),
    ends: ({ topic }) => records.ends(topic),
    chains: ({ topic }) => records.chains(topic),
    fetchStored: ({ topic, partition, from, maxRecords }) =>
      records.fetchStored(topic, partition, from, maxRecords),
    join: async ({ group, topic }) => {
      const member = await membership.join(group, topic);
      void membership.reconcile();
      return { member };
    },
    leave: ({ member }) => membership.leave(member).then(() => null),
    load: ({ lease }) => groups.load(lease),
    release: ({ lease }) => membership.release(lease).then(() => null),
    lag: ({ group }) => groups.lag(group),
    stretches: ({ group }) => groups.stretches(group),
    committed: ({ group }) => groups.committed(group),
    close: () => {
      clearInterval(ticking);
      signals.close();
      presence.close();
      db.close();
      return null;
    },
  };

  const answer = async ({ id, name, request }: ToWorker): Promise<void> => {
    try {
      const handle = handlers[name] as (request: unknown) => unknown;
      send({ kind: 'reply', id, response: await whenUnlocked(() => handle(request)) });
    } catch (error) {
      send({ kind: 'refusal', id, error: sent(error) });
    }
    if (name === 'close') process.nextTick(() => port.close());
  };
  port.on('message', (calls: readonly ToWorker[]) => {
    for (const call of calls) void answer(call);
  });
  send({ kind: 'ready', logId, partitions, lost: records.lostTails() });
  refresh();
}

/** A read waits only while another process recovers the file after a crash. */
async function whenUnlocked(read: () => unknown): Promise<unknown> {
  const patience = monotonicMs() + 5_000;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isBusy(error) || monotonicMs() > patience) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

function sizeOf({ body }: RecordColumns): number {
  return body.reduce((sum, { length }) => sum + length, 0);
}

function sent(error: unknown): { readonly name: string; readonly message: string } {
  const { name, message } = error as Error;
  return { name: name === 'Error' ? 'LogUnavailable' : name, message };
}
