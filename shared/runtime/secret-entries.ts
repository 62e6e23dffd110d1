import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../lang/json.ts';

type SecretEntry = { readonly name: string; readonly value: string | null };

/**
 * Entries about the secret with which all servings sign, each under a name of its own, so that compaction keeps their
 * order. The first fingerprint since the last reset counts: of two servings that start at once, the same wins for both.
 */
const SECRET = 'secret/';

const Value = z.union([z.object({ fingerprint: z.string() }), z.object({ reset: z.literal(true) })]);

const entryOf = (value: z.input<typeof Value>): SecretEntry => ({
  name: `${SECRET}${randomUUID()}`,
  value: JSON.stringify(value),
});

export const entryOfFingerprint = (fingerprint: string): SecretEntry => entryOf({ fingerprint });

/** After it, the next serving that starts decides. */
export const entryOfReset = (): SecretEntry => entryOf({ reset: true });

export type SecretEntries = {
  readonly apply: (entry: SecretEntry) => void;
  /** The fingerprint that counts; undefined: no serving has started yet. */
  readonly current: () => string | undefined;
};

/** The fingerprint after all entries so far, which may be applied again. */
export function createSecretEntries(): SecretEntries {
  const values = new Map<string, z.output<typeof Value>>();
  return {
    apply: ({ name, value }) => {
      const parsed = name.startsWith(SECRET) ? Value.safeParse(parseJson(value ?? '')) : undefined;
      if (parsed?.success) values.set(name, parsed.data);
    },
    current: () =>
      [...values.values()].reduce<string | undefined>(
        (found, value) => ('reset' in value ? undefined : (found ?? value.fingerprint)),
        undefined,
      ),
  };
}
