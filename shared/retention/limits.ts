import { type TrimmableTopic, trimmableTopics } from '../events/log-trimmed.ts';

/** How much of a topic stays. Absent: the limit does not apply. */
export type Limit = {
  /** ms */
  readonly maxAgeMs?: number;
  readonly maxBytes?: number;
};
export type Limits = Readonly<Partial<Record<TrimmableTopic, Limit>>>;

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const unitBytes = { kb: 2 ** 10, mb: 2 ** 20, gb: 2 ** 30, tb: 2 ** 40 } as const;

/** Parses a value for all topics, or `topic=value,...`. Undefined: it does not fit. */
function byTopic(
  text: string,
  parse: (value: string) => number | undefined,
): Readonly<Partial<Record<TrimmableTopic, number>>> | undefined {
  const limits: Partial<Record<TrimmableTopic, number>> = {};
  for (const part of text.split(',')) {
    const [, name, value = ''] = /^(?:([a-z]+)=)?(.*)$/.exec(part.trim())!;
    const limit = parse(value);
    const named = name === undefined ? trimmableTopics : trimmableTopics.filter((topic) => topic === name);
    if (limit === undefined || named.length === 0) return undefined;
    for (const topic of named) limits[topic] = limit;
  }
  return limits;
}

const unitOf = <Units extends Readonly<Record<string, number>>>(units: Units, pattern: RegExp) => {
  return (text: string): number | undefined => {
    const found = pattern.exec(text);
    return found === null ? undefined : Number(found[1]) * units[found[2]!]!;
  };
};
const spanOf = unitOf(unitMs, /^(\d+)([smhd])$/);
const sizeOf = unitOf(unitBytes, /^(\d+)(kb|mb|gb|tb)$/);

/** `90d`, or `conversations=90d,turns=30d`; ms by topic. Undefined: it does not fit. */
export const agesOf = (text: string) => byTopic(text, spanOf);

/** `20gb`, or `conversations=20gb,turns=5gb`; bytes by topic. Undefined: it does not fit. */
export const sizesOf = (text: string) => byTopic(text, sizeOf);

/** `''`: no limit. The texts were checked. */
export function limitsOf(keep: string, keepBytes: string): Limits {
  const ages = (keep === '' ? {} : agesOf(keep)) ?? {};
  const sizes = (keepBytes === '' ? {} : sizesOf(keepBytes)) ?? {};
  return Object.fromEntries(
    trimmableTopics.flatMap((topic) => {
      const [maxAgeMs, maxBytes] = [ages[topic], sizes[topic]];
      if (maxAgeMs === undefined && maxBytes === undefined) return [];
      const limit: Limit = {
        ...(maxAgeMs === undefined ? {} : { maxAgeMs }),
        ...(maxBytes === undefined ? {} : { maxBytes }),
      };
      return [[topic, limit] as const];
    }),
  );
}
