import { owedVotes } from '../../../services/judge/testing/owed-votes.ts';
import { firstRules, type Rules } from './folds.ts';
import { foldOne, type Group, rebuild, rowsOf, write } from './history-log.ts';
import { groupsOf, type World } from './world.ts';

/** Three processes that fold: exclusive owners, stale owners, crashes around the commit. */

export function takeOver(world: World, member: number, group: Group): void {
  group.term++;
  const states = world.faults.has('rebuilt-under-new-rules')
    ? rebuild(group, world.records, () => world.rules).states
    : group.states;
  const { term, position } = group;
  world.members[member]!.set(group, { term, position, states, rules: world.rules });
  if (group.fold.name === 'judge') enqueueVotes(world, group);
}

function step(world: World, member: number, group: Group): void {
  const { random, records, faulty, mood } = world;
  const owned = world.members[member]!;
  const own = owned.get(group);
  if (own === undefined) {
    takeOver(world, member, group);
    return;
  }
  if (own.position >= records[group.fold.reads][group.partition]!.length) return;
  const { states, facts } = foldOne(group, records, own.states, own.position, own.rules);
  if (faulty && random.chance(0.01 * mood.faults)) {
    owned.clear(); // a crash before the commit
    return;
  }
  if (own.term !== group.term && !world.faults.has('stale-owner-commits')) {
    owned.delete(group);
    return;
  }
  for (const fact of facts) write(records, fact);
  if (world.faults.has('commit-in-two') && faulty && random.chance(0.02)) {
    owned.clear();
    return;
  }
  if (group.rules.at(-1)![1] !== own.rules) group.rules.push([own.position, own.rules]); // in the same commit
  own.position++;
  own.states = states;
  group.position = own.position;
  group.states = states;
  if (faulty && random.chance(0.01 * mood.faults)) owned.clear(); // a crash after it
}

export const isCaughtUp = ({ records }: World, { fold, partition, position }: Group): boolean =>
  position >= records[fold.reads][partition]!.length;

/** Mostly by someone who believes that it owns the partition, stale or not. */
export function foldSome(world: World, times: number): void {
  const { random, members, groups } = world;
  for (let i = 0; i < times; i++) {
    const group = random.of(groups);
    for (let k = 0; k < 3; k++) {
      const believers = members.flatMap((owned, member) => (owned.has(group) ? [member] : []));
      step(world, believers.length > 0 ? random.of(believers) : random.int(members.length), group);
    }
  }
}

export function foldAll(world: World): void {
  for (let spin = 0; spin < 5 && !world.groups.every((group) => isCaughtUp(world, group)); spin++)
    for (const group of world.groups) {
      takeOver(world, 0, group);
      while (!isCaughtUp(world, group)) step(world, 0, group);
    }
}

/** What is open is known from committed rows; a job that waits already is not added twice. */
export function enqueueVotes(world: World, group: Group): void {
  for (const [lane, map] of group.states)
    for (const { id, data } of owedVotes(lane, rowsOf(map)))
      if (!world.votes.some((vote) => vote.id === id)) world.votes.push({ id, ...data });
}

export const enqueueAllVotes = (world: World): void => {
  for (const group of groupsOf(world, 'judge')) enqueueVotes(world, group);
};

/** A restart with other settings: takes effect at each owner's next take-over. */
export function changeRules({ random }: World): Rules {
  return {
    ...firstRules,
    votes: random.of([1, 3, 5]),
    size: random.of([2, 4, 6]),
    maxStaleness: random.of([1, 2, 3]),
    canaryShare: random.of([0, 0.5, 0.5]),
  };
}
