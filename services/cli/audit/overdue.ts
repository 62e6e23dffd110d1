import type { Topic } from '../../../shared/events/define-event.ts';
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
      /** samples that are to train again: they wait for no others */
      readonly returned: Set<string>;
    }
  >();
  const adapterOf = (name: string) => {
    const adapter = adapters.get(name) ?? {
      size: 0,
      open: false,
      paused: false,
      waiting: new Map<string, number>(),
      returned: new Set<string>(),
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
        adapter.waiting.delete(event.data.sampleId);
        adapter.returned.delete(event.data.sampleId);
        break;
      case 'batch.returned':
        for (const { sampleId } of event.data.samples) {
          adapter.waiting.set(sampleId, since);
          adapter.returned.add(sampleId);
        }
        break;
      case 'batch.submitted':
        for (const { sampleId } of event.data.samples) {
          adapter.waiting.delete(sampleId);
          adapter.returned.delete(sampleId);
        }
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

  /** Samples may wait for others, for the open batch, or for an operator; only a full batch, or one that trains again, is owed. */
  const owed = (): readonly Owed[] => [
    ...unread.values(),
    ...[...adapters].flatMap(([name, { size, open, paused, waiting, returned }]) =>
      size > 0 && (waiting.size >= size || returned.size > 0) && !open && !paused
        ? [...waiting]
            .filter(([id]) => waiting.size >= size || returned.has(id))
            .map(([id, since]) => ({ what: `sample ${id} waits for a batch of ${name}`, since }))
        : [],
    ),
  ];
  return { on, owed };
}
