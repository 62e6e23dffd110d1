import { z } from 'zod';
import { UsageError } from '../shared/runtime/command-errors.ts';
import { type Answer, mapAnswer, originOf, request } from './api-client.ts';
import type { EnvironmentFailureKind } from './environments/environment-failure.ts';

/** A report of an attempt's client about the environment that its session leases. */
export type LeaseFact =
  | {
      readonly what: 'leased';
      /** kind of environment */
      readonly environment: string;
      readonly task: string;
      readonly task_digest: string;
      readonly attempt: number;
      readonly host: string;
      readonly ttl_seconds: number;
    }
  | { readonly what: 'ready'; readonly ms: number }
  | {
      readonly what: 'acted';
      readonly call: string;
      readonly name: string;
      readonly argumentsDigest: string;
      readonly observationDigest: string;
      readonly bytes: number;
      readonly isError: boolean;
      readonly isDone: boolean;
      readonly stateKey?: string;
      readonly ms: number;
    }
  | { readonly what: 'renewed'; readonly renewal: number; readonly ttl_seconds: number }
  | { readonly what: 'evaluated'; readonly reward: number | null; readonly detailDigest: string }
  | { readonly what: 'failed'; readonly kind: EnvironmentFailureKind; readonly reason: string }
  | { readonly what: 'released' };

const Lease = z.looseObject({
  session_id: z.string(),
  environment: z.string(),
  task: z.string(),
  attempt: z.int(),
  host: z.string(),
  leased_at: z.string(),
  expires_at: z.string(),
  actions: z.int(),
  reward: z.number().nullable(),
});
const Leases = z.looseObject({ data: z.array(Lease) });
/** The live leases of an access key. */
type Leases = z.output<typeof Leases>;

export type LeaseClient = {
  /** Records a fact; repeating it changes nothing. `value`: the reward of the lease, if it was evaluated */
  readonly say: (session: string, fact: LeaseFact) => Promise<Answer<number | undefined>>;
  readonly list: () => Promise<Answer<Leases>>;
};

/** The path is unknown to releases without environments. */
const OLDER =
  'the server is of an earlier release, which knows no environments: restart it with this release';

/** @throws UsageError when the server is too old for environments: each attempt would fail */
export async function refuseOlderServer({ list }: Pick<LeaseClient, 'list'>): Promise<void> {
  const listed = await list();
  if (listed.kind === 'refused' && listed.status === 404) throw new UsageError(listed.message);
}

/** A client of the environment facts (docs/use/api.md). It does not throw on refusals or network errors. */
export function createLeaseClient(url: string, accessKey: string | undefined): LeaseClient {
  const address = `${originOf(url)}/rl/environments`;
  return {
    say: async (session, fact) =>
      mapAnswer(
        await request(address, accessKey, { session_id: session, fact }, undefined),
        Lease,
        ({ reward }) => reward ?? undefined,
      ),
    list: async () => {
      const answer = await request(address, accessKey, undefined, undefined);
      if (answer.kind === 'refused' && answer.status === 404) return { ...answer, message: OLDER };
      return mapAnswer(answer, Leases, (leases) => leases);
    },
  };
}
