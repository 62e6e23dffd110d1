import type { Topic } from '../../events/define-event.ts';
import { createMutex } from '../../lang/async.ts';
import { groupOfAnother } from '../errors.ts';
import type { LogDatabase } from './database.ts';
import type { Instance, Presence } from './presence.ts';
import { type Lease, monotonicMs } from './protocol.ts';
import { type MemberRow, type ShareRow, targetOf } from './share-out.ts';
import type { WriteQueue } from './write-queue.ts';

type Options = {
  readonly database: LogDatabase;
  readonly queue: WriteQueue;
  readonly presence: Presence;
  readonly onLeases: (member: string, leases: readonly Lease[]) => void;
};

export type Membership = {
  readonly join: (group: string, topic: Topic) => Promise<string>;
  readonly leave: (member: string) => Promise<void>;
  readonly release: (lease: Lease) => Promise<void>;
  /** Evicts dead members, claims free partitions, and reports the leases of each member of this instance. */
  readonly reconcile: (options?: { readonly look: boolean }) => Promise<void>;
};

/** ms to wait for a locked file; the next tick tries again. */
const patienceMs = 5_000;

/** Assigns the partitions of a group to its members: leases, in the tables `members` and `shares`. */
export function openMembership({ database, queue, presence, onLeases }: Options): Membership {
  const mine = new Map<string, { subscription: number; reported: string }>();
  const leaving = new Set<string>();
  let dead: ReadonlySet<string> = new Set();
  let joined = 0;
  const exclusive = createMutex();
  const tables = openTables(database, presence);
  /** The next tick retries a failure: otherwise a member that left would keep its partitions. */
  async function leave(): Promise<void> {
    const members = [...leaving];
    if (members.length === 0) return;
    await queue.write((touched) => {
      for (const member of members) tables.evict(member);
      touched.groups = true;
    }, deadline());
    for (const member of members) leaving.delete(member);
  }

  function report(me: string, subscription: number): void {
    const known = mine.get(me);
    if (known === undefined) return;
    const leases = tables.leasesOf(me, subscription);
    const reported = JSON.stringify(leases);
    if (reported === known.reported) return;
    known.reported = reported;
    onLeases(me, leases);
  }

  async function reconcileOnce(look: boolean): Promise<void> {
    if (look) {
      await leave();
      const others = [...mine.values()].flatMap(({ subscription }) => tables.membersOf(subscription));
      dead = presence.look([...new Map(others.map((other) => [other.instance, other])).values()]);
    }
    for (const [me, { subscription }] of mine) {
      if (tables.needsSettling(me, subscription, dead)) {
        await queue.write((touched) => {
          if (!mine.has(me)) return;
          tables.settle(me, subscription, dead);
          touched.groups = true;
        }, deadline());
      }
      report(me, subscription);
    }
    for (const instance of dead) presence.forget(instance);
    dead = new Set();
  }

  /** One run at a time. Failures are ignored: the next tick tries again. */
  const reconcile = ({ look }: { readonly look: boolean } = { look: false }): Promise<void> =>
    exclusive(() => reconcileOnce(look)).catch(() => undefined);

  return {
    reconcile,
    join: async (group, topic) => {
      joined += 1;
      const me = `${presence.instance}/${joined}`;
      const topicId = database.topicIds.get(topic)!;
      const otherTopic = tables.otherTopicOf(group, topicId);
      if (otherTopic !== undefined) throw groupOfAnother(group, otherTopic, topic);
      const subscription = await queue.write((touched) => {
        touched.groups = true;
        return tables.join(me, group, topicId);
      }, deadline());
      mine.set(me, { subscription, reported: '[]' });
      return me;
    },
    leave: async (member) => {
      mine.delete(member);
      leaving.add(member);
      await leave();
    },
    release: async (lease) => {
      await queue.write((touched) => {
        touched.groups = tables.release(lease) || touched.groups;
      }, deadline());
    },
  };
}

const deadline = () => ({ deadline: monotonicMs() + patienceMs });

/** Reads and changes the tables; every change belongs in a transaction. */
function openTables({ db, partitions }: LogDatabase, presence: Instance) {
  const statements = prepareStatements(db);
  const membersOf = (subscription: number) =>
    statements.members.all(subscription) as unknown as (MemberRow & Instance)[];
  const sharesOf = (subscription: number) => statements.shares.all(subscription) as unknown as ShareRow[];
  const targetsOf = (me: string, subscription: number) =>
    targetOf(me, subscription, membersOf(subscription), partitions);
  const addMember = (me: string, subscription: number): void => {
    statements.addMember.run(me, subscription, presence.instance, presence.pid, presence.pids);
  };
  /** Free partitions that `me` should own. */
  const freeSharesOf = (me: string, subscription: number): ShareRow[] => {
    const target = targetsOf(me, subscription);
    return sharesOf(subscription).filter(({ partition, owner }) => owner === null && target.has(partition));
  };
  const deadMembersOf = (me: string, subscription: number, dead: ReadonlySet<string>) =>
    membersOf(subscription).filter(({ member, instance }) => member !== me && dead.has(instance));
  const evict = (member: string): void => {
    statements.dropMember.run(member);
    statements.freeOf.run(member);
  };
  return {
    membersOf,
    evict,
    /** Whether `settle` would change anything. `dead`: instances. */
    needsSettling: (me: string, subscription: number, dead: ReadonlySet<string>): boolean =>
      !membersOf(subscription).some(({ member }) => member === me) ||
      deadMembersOf(me, subscription, dead).length > 0 ||
      freeSharesOf(me, subscription).length > 0,
    /** Evicts members of dead instances, adds `me` if missing, and claims its free partitions. */
    settle: (me: string, subscription: number, dead: ReadonlySet<string>): void => {
      for (const { member } of deadMembersOf(me, subscription, dead)) evict(member);
      addMember(me, subscription);
      for (const { partition } of freeSharesOf(me, subscription))
        statements.claim.run(me, subscription, partition);
    },
    leasesOf: (me: string, subscription: number): Lease[] => {
      const target = targetsOf(me, subscription);
      return sharesOf(subscription)
        .filter(({ partition, owner }) => owner === me && target.has(partition))
        .map(({ partition, generation }) => ({ subscription, partition, member: me, generation }));
    },
    /** False: the lease was no longer valid. */
    release: ({ subscription, partition, member, generation }: Lease): boolean =>
      statements.free.run(subscription, partition, member, generation).changes > 0,
    otherTopicOf: (group: string, topicId: number): string | undefined => {
      const other = statements.otherTopic.get(group, topicId);
      return other === undefined ? undefined : String(other.name);
    },
    /** Returns the id of the subscription. */
    join: (me: string, group: string, topicId: number): number => {
      statements.addSubscription.run(group, topicId);
      const id = statements.findSubscription.get(group, topicId)!.id as number;
      for (let partition = 0; partition < partitions; partition += 1) statements.addShare.run(id, partition);
      addMember(me, id);
      return id;
    },
  };
}

function prepareStatements(db: LogDatabase['db']) {
  return {
    addSubscription: db.prepare('INSERT OR IGNORE INTO subscriptions (grp, topic) VALUES (?, ?)'),
    findSubscription: db.prepare('SELECT id FROM subscriptions WHERE grp = ? AND topic = ?'),
    otherTopic: db.prepare(`SELECT name FROM subscriptions JOIN topics ON topics.id = topic
    WHERE grp = ? AND topic <> ?`),
    addShare: db.prepare('INSERT OR IGNORE INTO shares VALUES (?, ?, NULL, 0, 0, NULL)'),
    addMember: db.prepare(
      'INSERT OR IGNORE INTO members (member, subscription, instance, pid, pids) VALUES (?, ?, ?, ?, ?)',
    ),
    dropMember: db.prepare('DELETE FROM members WHERE member = ?'),
    freeOf: db.prepare('UPDATE shares SET owner = NULL, generation = generation + 1 WHERE owner = ?'),
    free: db.prepare(`UPDATE shares SET owner = NULL, generation = generation + 1
    WHERE subscription = ? AND partition = ? AND owner = ? AND generation = ?`),
    claim: db.prepare(`UPDATE shares SET owner = ?, generation = generation + 1
    WHERE subscription = ? AND partition = ? AND owner IS NULL`),
    members: db.prepare(
      'SELECT member, instance, pid, pids FROM members WHERE subscription = ? ORDER BY seq',
    ),
    shares: db.prepare(
      'SELECT partition, owner, generation FROM shares WHERE subscription = ? ORDER BY partition',
    ),
  };
}
