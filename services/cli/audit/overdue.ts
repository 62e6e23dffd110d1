import type { Topic } from '../../../shared/events/define-event.ts';
import { openReturnedTurns } from '../../../shared/views/returned-turns.ts';
import { type Audited, type Folded, type GroupName, placeName } from './audited.ts';

/** An obligation, open since `since`, ms since 1970. */
export type Owed = { readonly what: string; readonly since: number };

const readers: readonly (readonly [GroupName, Topic])[] = [
  ['attribute', 'conversations'],
  ['judge', 'turns'],
  ['assemble', 'turns'],
  ['submit', 'training'],
];

/** The oldest record that each group has not read, and samples that wait although a batch is due. */
export function createBacklog(folded: Folded) {
  const unread = new Map<string, Owed>();
  const adapters = new Map<
    string,
    {
      size: number;
      open: boolean;
      paused: boolean;
      readonly waiting: Map<string, number>;
      /** batches that are to train again: they wait for no others */
      readonly returned: ReturnType<typeof openReturnedTurns>;
    }
  >();
  /** by id of the command, so that a copy changes nothing */
  const returnedSince = new Map<string, number>();
  const adapterOf = (name: string) => {
    const adapter = adapters.get(name) ?? {
      size: 0,
      open: false,
      paused: false,
      waiting: new Map<string, number>(),
      returned: openReturnedTurns(),
    };
    adapters.set(name, adapter);
    return adapter;
  };

  const on = (record: Audited): void => {
    const { event, topic } = record;
    const since = record.time;
    for (const [group, reads] of readers) {
      if (reads !== topic || folded(group, record)) continue;
      const owed = { what: `${group} has not read ${placeName(record)} (${event.type} ${event.id})`, since };
      if (since < (unread.get(group)?.since ?? Number.POSITIVE_INFINITY)) unread.set(group, owed);
    }
    if (topic !== 'training') return;
    const adapter = adapterOf(event.subject);
    switch (event.type) {
      case 'sample.ready':
        adapter.waiting.set(event.data.sampleId, since);
        break;
      case 'sample.dropped':
        if (event.data.returned === undefined) adapter.waiting.delete(event.data.sampleId);
        else adapter.returned.drop(event.data.returned, event.data.sampleId);
        break;
      case 'batch.returned':
        if (!returnedSince.has(event.id)) adapter.returned.add(event);
        if (!returnedSince.has(event.id)) returnedSince.set(event.id, since);
        break;
      case 'batch.submitted':
        if (event.data.again !== undefined) adapter.returned.form(event.data.again, event.data.samples);
        else for (const { sampleId } of event.data.samples) adapter.waiting.delete(sampleId);
        adapter.size = event.data.size;
        adapter.open = true;
        break;
      case 'policy.promoted':
      case 'policy.rejected':
      case 'policy.update-failed':
        adapter.open = false;
        break;
      case 'learning.paused':
      case 'learning.resumed':
        adapter.paused = event.type === 'learning.paused';
        break;
    }
  };

  /** Samples may wait for others, for the open batch, or for an operator; only a batch that could be formed is owed. */
  const owed = (): readonly Owed[] => [
    ...unread.values(),
    ...[...adapters]
      .filter(([, { open, paused }]) => !open && !paused)
      .flatMap(([name, { size, waiting, returned }]) => [
        ...(size > 0 && waiting.size >= size
          ? [...waiting].map(([id, since]) => ({ what: `sample ${id} waits for a batch of ${name}`, since }))
          : []),
        ...returned.state().map(([id, batch]) => ({
          what: `${batch} waits to train again`,
          since: returnedSince.get(id)!,
        })),
      ]),
  ];
  return { on, owed };
}
