import { noSightings } from '../../../services/collector/sightings.ts';
import { learningResumed } from './facts.ts';
import { firstRules } from './folds.ts';
import { allEvents, write } from './history-log.ts';
import { isCanaryDecision } from './laws/canary.ts';
import { changeRules, enqueueAllVotes, foldAll, foldSome, isCaughtUp, takeOver } from './members.ts';
import { operate, sweep, sweeps, viewsOf } from './operators.ts';
import { answer, chat, crash, drain, swap } from './serving.ts';
import { train, voteWork, wakeTrainers } from './workers.ts';
import { adapters, append, follow, newId, type World } from './world.ts';

/** One moment: something fails, perhaps, and somebody does one step. */
export function tick(world: World): void {
  misfortune(world);
  const { random, mood } = world;
  if (random.chance(mood.operators)) operate(world);
  const dice = random.next();
  if (dice < 0.22) chat(world, random.of(world.clients));
  else if (dice < 0.4) serve(world);
  else if (dice < 0.76) foldSome(world, random.int(6));
  else if (dice < 0.82) for (let i = 0; i < 4; i++) voteWork(world, random.int(2));
  else if (dice < 0.9) for (let i = 0; i < mood.trainers; i++) train(world, random.int(2));
  else if (dice < 0.93) {
    enqueueAllVotes(world);
    wakeTrainers(world);
  } else if (dice < 0.96) sweep(world, random.of(sweeps));
  else if (dice < 0.98) {
    const late = random.take(world.later);
    if (late !== undefined) write(world.records, late);
  }
  if (random.chance(0.02)) takeOver(world, random.int(3), random.of(world.groups)); // the old owner goes on
}

function misfortune(world: World): void {
  const { random } = world;
  const passed = random.int(3);
  world.now += passed;
  world.awake += passed;
  if (random.chance(0.002))
    world.sightings = { idle: noSightings, rested: noSightings, deadline: noSightings }; // restarts
  if (random.chance(0.0015)) world.now += 200 + random.int(400); // everybody slept
  if (random.chance(0.0012)) random.of(world.replicas).skew = random.of([0, 0, 0, 450, -450]);
  if (random.chance(0.01)) world.logUp = !world.logUp || random.chance(0.2);
  else if (!world.logUp && random.chance(0.1)) world.logUp = true;
  if (random.chance(world.judgeUp ? 0.003 : 0.02)) world.judgeUp = !world.judgeUp;
  if (random.chance(0.008)) {
    if (random.chance(0.5))
      world.votes = []; // a queue is flushed
    else world.wakes = [];
  }
  if (random.chance(0.004)) world.rules = changeRules(world);
}

function serve(world: World): void {
  const { random } = world;
  const replica = random.of(world.replicas);
  if (!replica.up) {
    replica.up = random.chance(0.3);
    return;
  }
  if (random.chance(0.7)) answer(world, replica);
  else drain(world, replica);
  if (random.chance(0.3)) swap(world, replica);
  if (random.chance(0.01)) crash(replica);
}

/**
 * Faults stop, clients go quiet, everything restarts, timers fire. True when all that was open got closed.
 */
export function quiesce(world: World): boolean {
  Object.assign(world, { faulty: false, rules: firstRules, logUp: true, judgeUp: true });
  for (const replica of world.replicas) {
    Object.assign(replica, { up: true, skew: 0 });
    while (replica.flights.length > 0) answer(world, replica);
    while (replica.outbox.length > 0) drain(world, replica);
  }
  for (const event of world.later.splice(0)) write(world.records, event);
  for (const adapter of adapters)
    append(world, learningResumed({ id: newId(world, 'o'), tick: world.now }, adapter));
  for (const event of ghosts(world)) write(world.records, event);
  for (let round = 0; round < 60; round++) {
    foldAll(world);
    resumeLearning(world);
    enqueueAllVotes(world);
    for (let i = 0; i < 400 && (world.votes.length > 0 || world.voteWorkers[0] !== undefined); i++)
      voteWork(world, 0);
    for (const [index] of world.trainers.entries()) {
      follow(world, world.trainers[index]!.view, true);
      wakeTrainers(world);
      for (let i = 0; i < 12; i++) train(world, index);
    }
    world.now += 100;
    world.awake += 100;
    if (round > 2) for (const kind of sweeps) sweep(world, kind, true);
    for (const replica of world.replicas) swap(world, replica, true);
    if (world.groups.every((group) => isCaughtUp(world, group)) && openThings(world).length === 0)
      return true;
  }
  return false;
}

/** Repeated automatic rollbacks pause learning; an operator looks, and resumes. A late copy of a pause is none. */
function resumeLearning(world: World): void {
  for (const adapter of adapters) {
    const said = allEvents(world.records).filter(
      ({ type, subject }) => type.startsWith('learning.') && subject === adapter,
    );
    const last = said.at(-1);
    const isFirst = said.findIndex(({ id }) => id === last?.id) === said.length - 1;
    if (isFirst && last?.type === 'learning.paused' && last.data.rollback !== undefined)
      append(world, learningResumed({ id: newId(world, 'o'), tick: world.now }, adapter));
  }
}

const comesAgain = /^(lane|policy\.(?!loaded)|learning|vote|interaction|feedback|batch\.re)/;

/** A last late copy of old commands and old turns. */
const ghosts = ({ records, random }: World) =>
  allEvents(records).filter(
    (event) => comesAgain.test(event.type) && !isCanaryDecision(event) && random.chance(0.04),
  );

/** What is not settled yet, from committed rows. */
export function openThings(world: World): readonly string[] {
  const open: string[] = [];
  for (const { rows } of viewsOf(world, 'attribute')) {
    for (const [key, row] of rows.entries('session/')) if ((row as { open: boolean }).open) open.push(key);
    for (const [key, row] of rows.entries('turn/'))
      if ((row as { status: string }).status === 'open') open.push(key);
  }
  for (const { rows } of viewsOf(world, 'judge'))
    for (const [key] of rows.entries('')) if (!isMemory(key)) open.push(`judge ${key}`);
  for (const { rows } of viewsOf(world, 'assemble'))
    for (const [key] of rows.entries('')) if (!isMemory(key)) open.push(`assemble ${key}`);
  for (const { rows } of viewsOf(world, 'submit')) {
    for (const table of ['sample/', 'returned/'])
      for (const [key] of rows.entries(table)) open.push(`submit ${key}`);
    if ((rows.get('head/now') as { open: unknown } | undefined)?.open) open.push('an open batch');
  }
  return open;
}

/** Ids of what is settled: they are no obligation. */
const isMemory = (key: string): boolean => key.startsWith('settled');
