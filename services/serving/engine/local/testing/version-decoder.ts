import type { BatchDecoder } from '../versions.ts';

/** Tokens of a prompt that are read at once. */
export const PIECE = 2;

/** Positions of the decoders of all versions together; each sequence takes its tokens and one more. */
type Budget = { readonly positions: number; taken: number };

/** A decoder whose logits are its version, and which throws on invalid use. */
export function versionDecoder(
  version: number,
  size: number,
  made: Set<number>,
  budget: Budget,
): BatchDecoder {
  const sequences = new Map<number, { readonly ids: number[]; read: number }>();
  made.add(version);
  const logits = () => Float32Array.of(version);
  /** Prompts are zeros and answers count up from 1, so that missing or repeated tokens are noticed. */
  const check = (ids: readonly number[]) => {
    const start = ids.findIndex((id) => id !== 0);
    if (start === -1) return;
    ids.slice(start).forEach((id, index) => {
      if (id !== index + 1) throw new Error(`unexpected tokens: ${ids}`);
    });
  };
  return {
    begin: (ids) => {
      check(ids);
      const slot = Array.from({ length: size }, (_, index) => index).find((index) => !sequences.has(index));
      if (slot === undefined || budget.taken + ids.length + 1 > budget.positions) throw new Error('full');
      budget.taken += ids.length + 1;
      sequences.set(slot, { ids: [...ids], read: 0 });
      return slot;
    },
    read: (slot) => {
      const sequence = sequences.get(slot)!;
      if (sequence.read >= sequence.ids.length) throw new Error('read twice');
      sequence.read += PIECE;
      return sequence.read < sequence.ids.length ? undefined : { logits: logits(), cachedTokens: 1 };
    },
    step: (entries) => {
      if (new Set(entries.map(({ slot }) => slot)).size < entries.length) throw new Error('two in one slot');
      if (budget.taken > budget.positions) throw new Error('too many positions');
      for (const { slot, id } of entries) {
        const sequence = sequences.get(slot);
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
    canStep: () => sequences.size === 0 || budget.taken <= budget.positions,
    release: (slot) => {
      const sequence = sequences.get(slot);
      if (sequence === undefined) throw new Error('released twice');
      budget.taken -= sequence.ids.length + 1;
      sequences.delete(slot);
    },
    dispose: () => {
      if (sequences.size > 0) throw new Error('disposed while in use');
      made.delete(version);
    },
  };
}
