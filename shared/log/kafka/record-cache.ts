import type { Topic } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';

export type RecordCache = {
  readonly get: (topic: Topic, at: Position) => string | undefined;
  readonly set: (topic: Topic, at: Position, body: string) => void;
};

/** Caches the most recent bodies, up to about `maxCharacters`: emitted events often quote a recent record. */
export function openRecordCache(maxCharacters: number): RecordCache {
  const bodies = new Map<string, string>();
  let characters = 0;
  const keyOf = (topic: Topic, { partition, offset }: Position) => `${topic}/${partition}/${offset}`;
  const drop = (key: string) => {
    characters -= bodies.get(key)?.length ?? 0;
    bodies.delete(key);
  };
  return {
    get: (topic, at) => bodies.get(keyOf(topic, at)),
    set: (topic, at, body) => {
      const key = keyOf(topic, at);
      drop(key);
      bodies.set(key, body);
      characters += body.length;
      for (const oldest of bodies.keys()) {
        if (characters <= maxCharacters) break;
        drop(oldest);
      }
    },
  };
}
