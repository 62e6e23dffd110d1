import type { BatchDecoder } from '../versions.ts';

/** Tokens of a prompt that are read at once. */
export const PIECE = 2;

/** Positions that the decoders of all versions may have together; each sequence has its own and one more. */
export type Budget = { readonly positions: number; taken: number };

/** A decoder whose logits tell its version, and that notices what must not happen. */
export function versionDecoder(
  version: number,
  size: number,
  made: Set<number>,
  budget: Budget,
): BatchDecoder {
  const held = new Map<number, { readonly ids: number[]; read: number }>();
  made.add(version);
  const logits = () => Float32Array.of(version);
  /** Prompts are zeros, and the answer's tokens count up from 1: none may be missing, or come twice. */
  const check = (ids: readonly number[]) => {
    const start = ids.findIndex((id) => id !== 0);
    if (start === -1) return;
    ids.slice(start).forEach((id, index) => {
      if (id !== index + 1) throw new Error(`not what was said: ${ids}`);
    });
  };
  return {
    begin: (ids) => {
      check(ids);
      const slot = Array.from({ length: size }, (_, index) => index).find((index) => !held.has(index));
      if (slot === undefined || budget.taken + ids.length + 1 > budget.positions) throw new Error('full');
      budget.taken += ids.length + 1;
      held.set(slot, { ids: [...ids], read: 0 });
      return slot;
    },
    read: (slot) => {
      const sequence = held.get(slot)!;
      if (sequence.read >= sequence.ids.length) throw new Error('read twice');
      sequence.read += PIECE;
      return sequence.read < sequence.ids.length ? undefined : { logits: logits(), cachedTokens: 1 };
    },
    step: (entries) => {
      if (new Set(entries.map(({ slot }) => slot)).size < entries.length) throw new Error('two in one slot');
      if (budget.taken > budget.positions) throw new Error('too many positions');
      for (const { slot, id } of entries) {
        const sequence = held.get(slot);
        if (sequence === undefined) throw new Error('stepped after its release');
        if (sequence.read < sequence.ids.length) throw new Error('stepped before it was read');
        sequence.ids.push(id);
        sequence.read = sequence.ids.length;
        budget.taken += 1;
        check(sequence.ids);
      }
      return entries.map(logits);
    },
    hasRoom: (tokens) => budget.taken + tokens + 1 <= budget.positions,
    canStep: () => held.size === 0 || budget.taken <= budget.positions,
    release: (slot) => {
      const sequence = held.get(slot);
      if (sequence === undefined) throw new Error('released twice');
      budget.taken -= sequence.ids.length + 1;
      held.delete(slot);
    },
    dispose: () => {
      if (held.size > 0) throw new Error('disposed while in use');
      made.delete(version);
    },
  };
}
