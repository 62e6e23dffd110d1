import { z } from 'zod';
import { EnvironmentActed } from '../../../shared/events/environment-acted.ts';
import { EnvironmentEvaluated } from '../../../shared/events/environment-evaluated.ts';
import { EnvironmentFailed } from '../../../shared/events/environment-failed.ts';
import { EnvironmentReady } from '../../../shared/events/environment-ready.ts';

const own = { lane: true, key: true, session: true } as const;
/** ms are those of the client; a lease of a day outlives every attempt */
const ttl = z.number().min(1).max(86_400);
const name = z.string().min(1).max(512);

/** A report of an attempt's client about its environment. */
export const LeaseFact = z.discriminatedUnion('what', [
  z.object({
    what: z.literal('leased'),
    environment: name,
    task: name,
    task_digest: name,
    attempt: z.int().min(0),
    host: name,
    ttl_seconds: ttl,
  }),
  EnvironmentReady.schema.omit(own).extend({ what: z.literal('ready') }),
  EnvironmentActed.schema.omit(own).extend({ what: z.literal('acted'), call: name }),
  z.object({ what: z.literal('renewed'), renewal: z.int().min(1), ttl_seconds: ttl }),
  EnvironmentEvaluated.schema.omit(own).extend({ what: z.literal('evaluated') }),
  EnvironmentFailed.schema.omit(own).extend({ what: z.literal('failed'), reason: z.string().max(2_000) }),
  z.object({ what: z.literal('released') }),
]);
export type LeaseFact = z.output<typeof LeaseFact>;
