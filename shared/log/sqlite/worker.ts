import { parentPort, workerData } from 'node:worker_threads';
import { type Topic, topics } from '../../events/define-event.ts';
import { doubling, retry } from '../../lang/async.ts';
import {
  cannotBeOpened,
  damagedFile,
  isBusy,
  isDamage,
  isPassing,
  type LogDatabase,
  openDatabase,
} from './database.ts';
import { type Groups, openGroups } from './groups.ts';
import { inTurns } from './in-turns.ts';
import { lockHolder } from './lock-holder.ts';
import { type Membership, openMembership } from './membership.ts';
import { pack } from './packing.ts';
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
import { openRecords, type Records } from './records.ts';
import { openSignals } from './signals.ts';
import { openTrims, type Trims } from './trims.ts';
import { openWriteQueue, type Steps, type Touched, type WriteQueue } from './write-queue.ts';

/** The thread that owns the connection: SQLite calls block, and HTTP requests must not wait for a disk. */
const options = workerData as WorkerOptions;
const port = parentPort!;
/** Sends soon, unlike the other side: a commit that takes a millisecond may come next. */
const send = inTurns<FromWorker>(process.nextTick, (messages) => port.postMessage(messages));

try {
  const onStep: Steps =
    options.stepsModule === undefined ? () => undefined : (await import(options.stepsModule)).onStep;
  start(onStep);
} catch (error) {
  send({ kind: 'failed', error: asSent(openingError(error)) });
}

function openingError(error: unknown): unknown {
  if (isPassing(error)) return cannotBeOpened(error, options.file);
  return isDamage(error) ? damagedFile(error, options.file) : error;
}

function start(onStep: Steps): void {
  const tickMs = Math.min(1_000, options.sessionTimeoutMs / 6);
  const database = openDatabase(options.file, options.partitions);
  const { db, logId, partitions } = database;
  const trims = openTrims(database);
  const records = openRecords(database, trims);
  const groups = openGroups(database, records, onStep);
  const presence = openPresence(options.folder, options.sessionTimeoutMs, tickMs);
  const ends = reportEnds(db, records);
  const signals = openSignals(options.folder, (name) =>
    name === 'records' ? ends.refresh() : void membership.reconcile(),
  );
  const announce = (touched: Touched): void => {
    if (ends.reportMoved()) signals.send('records');
    if (touched.groups) {
      void membership.reconcile();
      signals.send('groups');
    }
  };
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
  const ticking = setInterval(() => {
    presence.beat();
    ends.refresh();
    void membership.reconcile({ look: true });
  }, tickMs);
  const close = () => {
    clearInterval(ticking);
    signals.close();
    presence.close();
    db.close();
    return null;
  };

  const handlers = createHandlers({ records, trims, groups, queue, membership, onStep, close });
  port.on('message', (calls: readonly ToWorker[]) => {
    for (const call of calls) void answer(handlers, call);
  });
  send({ kind: 'ready', logId, partitions, lost: records.lostTails() });
  ends.refresh();
}

/** Reports the first free offsets to the other thread when they change. */
function reportEnds(db: LogDatabase['db'], records: Records) {
  const dataVersion = db.prepare('PRAGMA data_version');
  const known = new Map<Topic, readonly number[]>();
  let seenVersion: unknown;

  const reportAll = (): void => {
    const changed = topics.flatMap((topic) => {
      const ends = records.ends(topic);
      if (known.get(topic)?.join() === ends.join()) return [];
      known.set(topic, ends);
      return [[topic, ends] as const];
    });
    if (changed.length > 0) send({ kind: 'ends', ends: changed });
  };

  return {
    /** Reports the ends that the last transaction moved. False: it appended nothing. */
    reportMoved: (): boolean => {
      const changed = new Map<Topic, readonly number[]>();
      for (const { topic, partition, end } of records.moved())
        changed.set(
          topic,
          (changed.get(topic) ?? known.get(topic) ?? records.ends(topic)).with(partition, end),
        );
      for (const [topic, ends] of changed) known.set(topic, ends);
      if (changed.size > 0) send({ kind: 'ends', ends: [...changed] });
      return changed.size > 0;
    },
    /** A commit of another process changes the data version; reading the version costs no disk access. */
    refresh: (): void => {
      try {
        const version = dataVersion.get()!.data_version;
        if (version === seenVersion) return;
        reportAll();
        seenVersion = version;
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
    },
  };
}

type Handlers = { readonly [Name in CallName]: (request: Calls[Name]['request']) => unknown };

type Parts = {
  readonly records: Records;
  readonly trims: Trims;
  readonly groups: Groups;
  readonly queue: WriteQueue;
  readonly membership: Membership;
  readonly onStep: Steps;
  readonly close: () => null;
};

function createHandlers({ records, trims, groups, queue, membership, onStep, close }: Parts): Handlers {
  return {
    append: ({ records: columns, deadline }) => {
      const packed = pack(columns);
      const write = () => {
        records.append(packed);
        onStep('records');
        return null;
      };
      return queue.write(write, { deadline, bytes: sizeOf(columns) });
    },
    commit: ({ deadline, ...commit }) => {
      const packed = pack(commit.records);
      const write = () => groups.commit(commit, packed);
      return queue.write(write, { deadline, bytes: sizeOf(commit.records) });
    },
    fetch: ({ topic, partition, from, maxRecords, maxBytes }) =>
      records.fetch(topic, partition, from, { maxRecords, maxBytes }),
    skim: ({ topic, partition, from, maxRecords }) => records.skim(topic, partition, from, maxRecords),
    select: records.select,
    read: ({ topic, positions }) => positions.map((at) => records.read(topic, at)),
    ends: ({ topic }) => records.ends(topic),
    chains: ({ topic }) => records.chains(topic),
    fetchStored: ({ topic, partition, from, maxRecords }) =>
      records.fetchStored(topic, partition, from, maxRecords),
    starts: ({ topic }) => trims.starts(topic),
    readers: ({ topic }) => trims.readers(topic),
    measure: ({ topic, partition, from, maxRecords }) => trims.measure(topic, partition, from, maxRecords),
    cut: ({ topic, at, deadline }) => {
      const write = () => {
        trims.cut(topic, at.partition, at.offset);
        onStep('cut');
        return null;
      };
      return queue.write(write, { deadline });
    },
    remove: ({ topic, partition, deadline }) =>
      queue.write(
        () => {
          onStep('remove');
          return trims.remove(topic, partition);
        },
        { deadline },
      ),
    shrink: ({ deadline }) => queue.write(trims.shrink, { deadline }),
    join: async ({ group, topic }) => {
      const member = await membership.join(group, topic);
      void membership.reconcile();
      return { member };
    },
    leave: ({ member }) => membership.leave(member).then(() => null),
    load: ({ lease }) => groups.load(lease),
    rows: ({ lease, after }) => groups.rows(lease, after),
    release: ({ lease }) => membership.release(lease).then(() => null),
    lag: ({ group }) => groups.lag(group),
    stretches: ({ group }) => groups.stretches(group),
    committed: ({ group }) => groups.committed(group),
    close,
  };
}

async function answer(handlers: Handlers, { id, name, request }: ToWorker): Promise<void> {
  try {
    const handle = handlers[name] as (request: unknown) => unknown;
    send({ kind: 'reply', id, response: await whenUnlocked(() => handle(request)) });
  } catch (error) {
    send({ kind: 'refusal', id, error: asSent(error) });
  }
  if (name === 'close') process.nextTick(() => port.close());
}

/** A read is blocked only while another process recovers the file after a crash. */
async function whenUnlocked(read: () => unknown): Promise<unknown> {
  const patience = monotonicMs() + 5_000;
  const onFailure = (error: unknown) => {
    if (!isBusy(error) || monotonicMs() > patience) throw error;
  };
  return retry(async () => read(), { waits: doubling(2, 2), onFailure });
}

function sizeOf({ body }: RecordColumns): number {
  return body.reduce((sum, { length }) => sum + length, 0);
}

function asSent(error: unknown): { readonly name: string; readonly message: string } {
  const { name, message } = error as Error;
  return { name: name === 'Error' ? 'LogUnavailable' : name, message };
}
