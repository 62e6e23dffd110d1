import { z } from 'zod';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { sum } from '../../shared/lang/numbers.ts';
import type { EventLog, Heading } from '../../shared/log/event-log.ts';
import { readToEnd } from '../../shared/log/read-topic.ts';
import { openSnapshots, type SnapshotKind } from '../../shared/log/snapshots/snapshots.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { createPolicyView, policyState, policyTypes } from '../../shared/views/policy-view.ts';

/** What `training` says about the versions of one adapter. */
export type AdapterPolicy = ReturnType<typeof openAdapter>;

const kind = {
  name: 'cli-policies',
  version: 1,
  state: z.record(
    z.string(),
    z.object({ view: policyState, loaded: z.int().optional(), isPaused: z.boolean() }),
  ),
} satisfies SnapshotKind<unknown>;

const types: ReadonlySet<string> = new Set([...policyTypes, 'policy.loaded', 'learning.resumed']);

/** New records that make it worth to store the state for the next command. */
const WORTH = 1_000;

/** The adapters of the log by name, as of now. The state is stored, so the next command reads only newer records. */
export async function readPolicies(
  log: EventLog,
  settings: { readonly dataFolder: string },
  worth = WORTH,
): Promise<ReadonlyMap<string, AdapterPolicy>> {
  const snapshots = openSnapshots({ folder: dataFolder(settings.dataFolder).snapshots, log });
  const stored = await snapshots.load(kind);
  const from = stored?.upTo.training ?? [];
  const until = await log.ends('training');
  const adapters = new Map(
    Object.entries(stored?.state ?? {}).map(([name, state]) => [name, openAdapter(name, state)] as const),
  );
  const of = (name: string): AdapterPolicy => {
    const adapter = adapters.get(name) ?? openAdapter(name);
    adapters.set(name, adapter);
    return adapter;
  };
  const wants = ({ type, subject, at }: Heading): boolean => {
    if (at.offset < until[at.partition]!) of(subject);
    return types.has(type);
  };
  await readToEnd(log, 'training', ({ event }) => of(event.subject).on(event), {
    from: { ...from },
    until,
    wants,
  });
  if (sum(until) - sum(from) >= worth) {
    const state = Object.fromEntries([...adapters].map(([name, adapter]) => [name, adapter.state()]));
    // a reader that may not write here reads more the next time
    await snapshots.save(kind, { upTo: { training: until }, state }).catch(() => false);
  }
  return adapters;
}

type AdapterState = z.output<typeof kind.state>[string];

function openAdapter(name: string, from?: AdapterState) {
  const view = createPolicyView(name, from?.view);
  let loaded = from?.loaded;
  let isPaused = from?.isPaused ?? false;
  return {
    on: (event: ClawLoopEvent): void => {
      view.on(event);
      if (event.type === 'policy.loaded') loaded = event.data.version;
      if (event.type === 'learning.paused') isPaused = true;
      if (event.type === 'learning.resumed') isPaused = false;
    },
    view,
    /** the version that serving loaded last */
    loaded: () => loaded,
    isPaused: () => isPaused,
    state: (): AdapterState => ({ view: view.state(), loaded, isPaused }),
  };
}
