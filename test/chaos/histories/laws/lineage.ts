import type { ClawLoopEvent } from '../../../../shared/events/catalogue.ts';
import type { History, Law } from './history.ts';

/** Everything of one adapter, in log order, told again without the code under test. */
function walk(
  adapter: string,
  events: readonly ClawLoopEvent[],
  { world, of, interactions }: History,
): readonly string[] {
  const wrong: string[] = [];
  const fail = (what: string) => wrong.push(`${adapter}: ${what}`);
  const readyVersion = new Map(of('sample.ready').map(({ data }) => [data.sampleId, data.version]));
  const parents = new Map<number, number | null>([[0, null]]);
  const path = (version: number) => {
    const all: number[] = [];
    for (let at: number | null | undefined = version; at !== null && at !== undefined; at = parents.get(at))
      all.push(at);
    return all;
  };
  const [numbers, settled, seen, requested] = [
    new Set([0]),
    new Set<string>(),
    new Set<string>(),
    new Set<number>(),
  ];
  /** by version */
  const samplesOf = new Map<number, readonly string[]>();
  /** versions that were on canary */
  const tried = new Set<number>();
  const banned: number[] = [];
  let [open, current]: [string | undefined, number] = [undefined, 0];
  for (const event of events) {
    switch (event.type) {
      case 'batch.requested':
        requested.add(event.data.after);
        break;
      case 'batch.submitted': {
        const { batchId, n, samples, size, parent, maxStaleness, again } = event.data;
        if (open !== undefined) fail(`two open batches: ${open} and ${batchId}`);
        if (numbers.has(n)) fail(`a version number again: ${n}`);
        if (again === undefined && samples.length < size && !requested.has(n - 1))
          fail(`a small batch that nobody asked for: ${batchId}`);
        if (again !== undefined && requested.has(n - 1)) requested.add(n);
        const line = path(parent);
        const learned = new Set(line.flatMap((version) => samplesOf.get(version) ?? []));
        samplesOf.set(
          n,
          samples.map(({ sampleId }) => sampleId),
        );
        for (const { sampleId, at } of samples) {
          if (learned.has(sampleId))
            fail(`v${parent} learned from ${sampleId}, which ${batchId} trains again`);
          const steps = line.indexOf(readyVersion.get(sampleId) ?? -1);
          if (again === undefined && (steps < 0 || steps > maxStaleness))
            fail(`staleness ${steps} of ${sampleId} in ${batchId}`);
          const stands = world.records.training[at.partition]?.[at.offset];
          if (stands?.type !== 'sample.ready' || stands.data.sampleId !== sampleId)
            fail(`no sample at its place: ${sampleId}`);
        }
        numbers.add(n);
        open = batchId;
        break;
      }
      case 'policy.canary-started':
        if (open === event.data.batchId) tried.add(event.data.to);
        break;
      case 'policy.promoted':
      case 'policy.rejected':
      case 'policy.update-failed': {
        const { batchId } = event.data;
        if (settled.has(batchId)) break;
        if (open !== batchId) fail(`an outcome of no open batch: ${event.id}`);
        settled.add(batchId);
        open = undefined;
        if (event.type !== 'policy.promoted' || event.data.from !== current) break;
        parents.set(event.data.to, event.data.from);
        current = event.data.to;
        for (const ban of banned)
          if (path(current).includes(ban)) fail(`a rollback was undone: v${ban} under v${current}`);
        break;
      }
      case 'policy.rolled-back': {
        // meant: away from `from` and all that is built on it, until an operator says otherwise
        if (seen.has(event.id)) break;
        seen.add(event.id);
        const { from, to } = event.data;
        if (!path(current).includes(from) || !parents.has(to)) break;
        current = to;
        if (path(from).includes(to)) banned.push(from);
        for (const version of path(current))
          if (banned.includes(version)) banned.splice(banned.indexOf(version), 1);
        break;
      }
      default:
    }
  }
  for (const event of events)
    if (event.type === 'policy.loaded' && !parents.has(event.data.version))
      fail(`loaded, never promoted: ${event.id}`);
  for (const { data } of of('batch.submitted'))
    if (data.adapter === adapter && !settled.has(data.batchId))
      fail(`a batch without an outcome: ${data.batchId}`);
  for (const { name, loaded } of world.replicas)
    if ((loaded.get(adapter) ?? 0) !== current)
      fail(`${name} serves v${loaded.get(adapter)}, the head is v${current}`);
  for (const { name, canaries } of world.replicas)
    if (canaries.has(adapter)) fail(`${name} still serves v${canaries.get(adapter)!.to} on canary`);
  for (const { id, data } of interactions.values())
    if (data.adapter === adapter && !parents.has(data.version) && !tried.has(data.version))
      fail(`${id} was answered by v${data.version}, never promoted`);
  return wrong;
}

/**
 * One open batch at a time, one outcome each, at most one update each, numbers used once, no sample twice on the way
 * to a version, rollbacks never undone.
 */
export const lineageHolds: Law = (history) =>
  [...Map.groupBy(history.world.records.training.flat(), ({ subject }) => subject)].flatMap(
    ([adapter, events]) => walk(adapter, events, history),
  );
