import type { Topic } from '../../events/define-event.ts';
import { groupOfAnother } from '../errors.ts';
import type { LogDatabase } from './database.ts';
import type { Instance, Presence } from './presence.ts';
import { type Lease, monotonicMs } from './protocol.ts';
import { type MemberRow, type ShareRow, targetOf } from './share-out.ts';
import type { Touched, WriteQueue } from './write-queue.ts';

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
  /** Looks at who is there, takes what is free and due, and reports what each of our members is to hold. */
  readonly reconcile: (options?: { readonly look: boolean }) => Promise<void>;
};

/** Patience with a locked file, ms: after it the next tick tries again. */
const patienceMs = 5_000;

/** Which member works on which partition of its group: leases, in the tables `members` and `shares`. */
export function openMembership({
  database: { db, partitions, topicIds },
  queue,
  presence,
  onLeases,
}: Options): Membership {
  const mine = new Map<string, { subscription: number; reported: string }>();
  const leaving = new Set<string>();
  let dead: ReadonlySet<string> = new Set();
  let joined = 0;
  let running: Promise<void> = Promise.resolve();

  const addSubscription = db.prepare('INSERT OR IGNORE INTO subscriptions (grp, topic) VALUES (?, ?)');
  const findSubscription = db.prepare('SELECT id FROM subscriptions WHERE grp = ? AND topic = ?');
  const otherTopic = db.prepare(`SELECT name FROM subscriptions JOIN topics ON topics.id = topic
    WHERE grp = ? AND topic <> ?`);
  const addShare = db.prepare('INSERT OR IGNORE INTO shares VALUES (?, ?, NULL, 0, 0, NULL)');
  const addMember = db.prepare(
    'INSERT OR IGNORE INTO members (member, subscription, instance, pid, pids) VALUES (?, ?, ?, ?, ?)',
  );
  const dropMember = db.prepare('DELETE FROM members WHERE member = ?');
  const freeOf = db.prepare('UPDATE shares SET owner = NULL, generation = generation + 1 WHERE owner = ?');
  const free = db.prepare(`UPDATE shares SET owner = NULL, generation = generation + 1
    WHERE subscription = ? AND partition = ? AND owner = ? AND generation = ?`);
  const claim = db.prepare(`UPDATE shares SET owner = ?, generation = generation + 1
    WHERE subscription = ? AND partition = ? AND owner IS NULL`);
  const members = db.prepare(
    'SELECT member, instance, pid, pids FROM members WHERE subscription = ? ORDER BY seq',
  );
  const shares = db.prepare(
    'SELECT partition, owner, generation FROM shares WHERE subscription = ? ORDER BY partition',
  );

  const membersOf = (subscription: number) =>
    members.all(subscription) as unknown as (MemberRow & Instance)[];
  const sharesOf = (subscription: number) => shares.all(subscription) as unknown as ShareRow[];
  const isDead = (member: MemberRow & Instance) => dead.has(member.instance);

  const evict = (member: string) => {
    dropMember.run(member);
    freeOf.run(member);
  };

  /** Inside a transaction: drops the dead, makes sure that we are there, claims what is free and ours. */
  function settle(me: string, subscription: number, touched: Touched): void {
    for (const other of membersOf(subscription))
      if (other.member !== me && isDead(other)) evict(other.member);
    addMember.run(me, subscription, presence.instance, presence.pid, presence.pids);
    const target = targetOf(me, subscription, membersOf(subscription), partitions);
    for (const { partition, owner } of sharesOf(subscription)) {
      if (owner === null && target.has(partition)) claim.run(me, subscription, partition);
    }
    touched.groups = true;
  }

  /** Tried again at the next tick if it fails: who is neither here nor gone would keep its partitions. */
  async function leave(): Promise<void> {
    const gone = [...leaving];
    if (gone.length === 0) return;
    await queue.write((touched) => {
      for (const member of gone) evict(member);
      touched.groups = true;
    }, deadline());
    for (const member of gone) leaving.delete(member);
  }

  const needsSettling = (me: string, subscription: number): boolean => {
    const present = membersOf(subscription);
    if (!present.some(({ member }) => member === me)) return true;
    if (present.some((other) => other.member !== me && isDead(other))) return true;
    const target = targetOf(me, subscription, present, partitions);
    return sharesOf(subscription).some(({ partition, owner }) => owner === null && target.has(partition));
  };

  function report(me: string, subscription: number): void {
    const known = mine.get(me);
    if (known === undefined) return;
    const target = targetOf(me, subscription, membersOf(subscription), partitions);
    const leases = sharesOf(subscription)
      .filter(({ partition, owner }) => owner === me && target.has(partition))
      .map(({ partition, generation }): Lease => ({ subscription, partition, member: me, generation }));
    const reported = JSON.stringify(leases);
    if (reported === known.reported) return;
    known.reported = reported;
    onLeases(me, leases);
  }

  async function reconcileOnce(look: boolean): Promise<void> {
    if (look) {
      await leave();
      const others = [...mine.values()].flatMap(({ subscription }) => membersOf(subscription));
      dead = presence.look([...new Map(others.map((other) => [other.instance, other])).values()]);
    }
    for (const [me, { subscription }] of mine) {
      if (needsSettling(me, subscription)) {
        await queue.write((touched) => mine.has(me) && settle(me, subscription, touched), deadline());
      }
      report(me, subscription);
    }
    for (const instance of dead) presence.forget(instance);
    dead = new Set();
  }

  const reconcile = ({ look }: { readonly look: boolean } = { look: false }): Promise<void> => {
    // One at a time. Its failure is no one's business: the next tick tries again.
    running = running.then(() => reconcileOnce(look)).catch(() => undefined);
    return running;
  };

  return {
    reconcile,
    join: async (group, topic) => {
      joined += 1;
      const me = `${presence.instance}/${joined}`;
      const topicId = topicIds.get(topic)!;
      const other = otherTopic.get(group, topicId);
      if (other !== undefined) throw groupOfAnother(group, String(other.name), topic);
      const subscription = await queue.write((touched) => {
        addSubscription.run(group, topicId);
        const id = findSubscription.get(group, topicId)!.id as number;
        for (let partition = 0; partition < partitions; partition += 1) addShare.run(id, partition);
        addMember.run(me, id, presence.instance, presence.pid, presence.pids);
        touched.groups = true;
        return id;
      }, deadline());
      mine.set(me, { subscription, reported: '[]' });
      return me;
    },
    leave: async (member) => {
      mine.delete(member);
      leaving.add(member);
      await leave();
    },
    release: async ({ subscription, partition, member, generation }) => {
      await queue.write((touched) => {
        touched.groups = free.run(subscription, partition, member, generation).changes > 0 || touched.groups;
      }, deadline());
    },
  };
}

const deadline = () => ({ deadline: monotonicMs() + patienceMs });
