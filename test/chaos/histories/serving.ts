import { conversationName, isChosen } from '../../../services/serving/heads/serve-canary.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { initialHead, servedCanary } from '../../../shared/lineage/head.ts';
import {
  feedbackGiven,
  interactionCompleted,
  message,
  policyLoaded,
  responseDeleted,
  sessionEnded,
} from './facts.ts';
import { hashOf } from './random.ts';
import {
  adapters,
  append,
  type Client,
  follow,
  headNow,
  newId,
  newView,
  type Replica,
  type World,
} from './world.ts';

/** Two replicas with an outbox each, and the clients that talk to them. */

function record(world: World, replica: Replica, event: ClawLoopEvent): boolean {
  const { random } = world;
  // another thread may overtake the outbox
  if (world.logUp && (replica.outbox.length === 0 || random.chance(0.5))) append(world, event);
  else if (random.chance(0.95)) replica.outbox.push(event);
  else return false; // the client is told that it was not recorded
  return true;
}

export function drain(world: World, replica: Replica): void {
  const event = replica.outbox[0];
  if (!world.logUp || event === undefined) return;
  if (world.faults.has('lost-outbox') && world.random.chance(0.1)) return void replica.outbox.shift();
  append(world, event);
  if (world.faulty && world.random.chance(0.1))
    crash(replica); // not removed yet: it will be appended again
  else replica.outbox.shift();
}

export function crash(replica: Replica): void {
  Object.assign(replica, { up: false, flights: [], loaded: new Map(), canaries: new Map(), view: newView() });
}

type Asked = { readonly side?: boolean; readonly pinned?: boolean; readonly words?: readonly string[] };

function request(
  world: World,
  client: Client,
  { side = false, pinned = false, words = [...client.words] }: Asked,
) {
  const ready = world.replicas.filter(({ up, loaded }) => up && loaded.has(client.adapter));
  if (ready.length === 0) return;
  const replica = world.random.of(ready);
  const id = newId(world, 'i');
  const version = versionFor(world, replica, client, { id, pinned, words });
  replica.flights.push({ id, client, side, pinned, words, version });
  if (side) return;
  client.waiting = { id, pinned };
  if (world.random.chance(0.04)) request(world, client, { pinned, words }); // it asks twice at once
}

/** The candidate on canary for some of the sessions that verdicts settle, once it is loaded; otherwise the head. */
function versionFor(
  { faults }: World,
  { loaded, canaries }: Replica,
  { adapter, lane, session, settle }: Client,
  { id, pinned, words }: { readonly id: string; readonly pinned: boolean; readonly words: readonly string[] },
): number {
  const canary = canaries.get(adapter);
  const head = loaded.get(adapter)!;
  if (canary === undefined || pinned || settle === 'reward') return head;
  const name = faults.has('canary-by-request') ? id : conversationName(lane, session, words.map(message));
  return isChosen(name, { policy: { version: canary.to }, share: canary.share }) ? canary.to : head;
}

/** Content has streamed; the final chunk goes out when the fact is durable. */
export function answer(world: World, replica: Replica): void {
  const { random } = world;
  const flight = random.take(replica.flights);
  if (flight === undefined) return;
  const { client, id, words, side, version } = flight;
  const { key, lane, session, adapter, settle } = client;
  const number = random.int(6);
  const text = `${number < 4 ? 'a' : 'c'}${number}`;
  const event = interactionCompleted({
    id,
    tick: world.now + replica.skew,
    key,
    lane,
    session,
    adapter,
    words,
    answer: text,
    version,
    live: !flight.pinned,
    side,
    aborted: random.chance(0.04),
    settle,
  });
  if (record(world, replica, event)) {
    world.durable.push(id);
    world.completions.push({ id, key, lane, adapter });
    client.mine.push(id);
  }
  if (world.faulty && random.chance(0.02))
    crash(replica); // before the client heard of it
  else if (client.waiting?.id === id) {
    client.waiting = undefined;
    client.words = [...words, text];
  }
}

/** It serves the head that it knows; after a start only once its view has reached the end of the log. */
export function swap(world: World, replica: Replica, toEnd = false): void {
  if (!world.logUp) return;
  const isFirst = replica.loaded.size === 0;
  follow(world, replica.view, toEnd || isFirst || world.random.chance(0.5));
  for (const adapter of adapters) {
    const canary = servedCanary(replica.view.heads.get(adapter) ?? initialHead);
    const before = replica.canaries.get(adapter);
    if (before?.batchId !== canary?.batchId && !world.faults.has('canary-outlives-its-end'))
      replica.canaries.delete(adapter);
    // loading takes a while, and fails now and then
    if (canary !== undefined && world.random.chance(0.5)) replica.canaries.set(adapter, canary);
    const version = (replica.view.heads.get(adapter) ?? initialHead).head;
    if (isFirst && version !== headNow(world, adapter).head)
      world.violations.push(`lineage: a fresh replica serves an old head: ${adapter} v${version}`);
    if (replica.loaded.get(adapter) === version) continue;
    replica.loaded.set(adapter, version);
    append(world, policyLoaded({ id: newId(world, 'l'), tick: world.now }, adapter, version, replica.name));
  }
}

export function chat(world: World, client: Client): void {
  const { random, mood } = world;
  if (client.waiting !== undefined) {
    if (random.chance(0.1)) request(world, client, { pinned: client.waiting.pinned }); // a retry
    return;
  }
  const dice = random.next() / mood.wander;
  const { words } = client;
  if (dice < 0.02)
    client.words = []; // a new chat
  else if (dice >= 0.18 && dice < 0.23)
    request(world, client, { side: true, words: ['u-title', ...words.slice(0, 1)] });
  else if (dice >= 0.23 && dice < 0.28 && client.session !== undefined)
    endSession(world, client, client.session);
  else if (dice >= 0.28 && dice < 0.42) rate(world, client);
  else {
    if (dice < 0.08 && /^[ac]/.test(words.at(-1) ?? ''))
      words.pop(); // regenerate
    else if (dice < 0.13 && words.length > 2)
      words.splice(random.int(words.length)); // an edit: a branch
    else if (dice < 0.18 && words.length > 3) {
      request(world, client, { side: true, words: [...words, 'u-summarise'] });
      client.words = [`s${random.int(9)}`];
    }
    say(world, client);
  }
}

function say(world: World, client: Client): void {
  const { random } = world;
  const spoken = () => (random.chance(0.9) ? `u${random.int(5)}` : 'h0');
  const word = () =>
    client.words.at(-1)?.startsWith('c') && random.chance(0.8) ? `t${random.int(3)}` : spoken();
  if (!client.words.at(-1)?.startsWith('u')) client.words.push(word());
  if (random.chance(0.15)) client.words.push(word());
  request(world, client, { pinned: random.chance(0.06) });
}

function endSession(world: World, { key, lane, settle }: Client, session: string): void {
  const id = newId(world, 'e');
  const discard = settle === 'reward' && hashOf(id) % 5 === 0 ? { discard: true } : {};
  const event = sessionEnded({ id, tick: world.now }, { lane, key, session, reason: 'explicit', ...discard });
  record(world, world.random.of(world.replicas), event);
}

/** Of an answer of its own, or of somebody else's; its lane is the completion's. Some of its own it deletes. */
function rate(world: World, { key, mine, settle }: Client): void {
  const { random, completions } = world;
  const replica = random.of(world.replicas);
  if (completions.length === 0 || !replica.up) return;
  const recent = mine.slice(-6);
  const own = recent.length === 0 ? undefined : random.of(recent);
  const target = random.chance(0.1) ? random.of(completions) : completions.find(({ id }) => id === own);
  if (target === undefined) return;
  const { id: interactionId, lane } = target;
  const given = { id: newId(world, 'f'), tick: world.now + replica.skew };
  if (target.key === key && hashOf(given.id) % 13 === 0) {
    const id = `${interactionId}/deleted`;
    const adapter = hashOf(id) % 5 === 0 ? {} : { adapter: target.adapter };
    record(world, replica, responseDeleted({ ...given, id }, { interactionId, lane, key, ...adapter }));
    return;
  }
  const thumb = random.of([1, -1]);
  const number = hashOf(given.id);
  const score = settle === 'reward' ? [thumb, 0, 0.5][number % 3]! : thumb;
  const advantage = settle === 'reward' && number % 4 === 0 ? { advantage: (number % 7) - 3 } : {};
  record(world, replica, feedbackGiven(given, { interactionId, lane, key, score, ...advantage }));
}
