import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { EnvironmentLeased } from '../../../shared/events/environment-leased.ts';
import type { Audited, ReportViolation } from './audited.ts';
import type { Owed } from './overdue.ts';

type LeaseFact = Extract<ClawLoopEvent, { readonly type: `environment.${string}` }>;

type Lease = {
  readonly session: string;
  /** ms since 1970 */
  expiresAt: number;
  /** ids of the facts so far */
  readonly facts: Set<string>;
  isEvaluated: boolean;
  isRewarded: boolean;
  isDiscarded: boolean;
  isEnded: boolean;
  releasedBy: 'client' | 'expiry' | undefined;
};

const isLeaseFact = (event: ClawLoopEvent): event is LeaseFact => event.type.startsWith('environment.');

/**
 * Checks that facts about an environment lie between its lease and its release, that it rates an attempt at most once,
 * and that no attempt trains on a reward that its environment did not rate. Feed it conversations.
 */
export function createLeaseCheck(violation: ReportViolation) {
  /** by lane */
  const leases = new Map<string, Lease>();

  const onLeased = ({ subject, data, id }: EnvironmentLeased): void => {
    const known = leases.get(subject);
    if (known !== undefined && known.session !== data.session)
      violation(`the lane of session ${data.session} has the environment of session ${known.session}`);
    if (known !== undefined) return;
    leases.set(subject, {
      session: data.session,
      expiresAt: Date.parse(data.expiresAt),
      facts: new Set([id]),
      isEvaluated: false,
      isRewarded: false,
      isDiscarded: false,
      isEnded: false,
      releasedBy: undefined,
    });
  };
  const onFact = (lease: Lease, event: LeaseFact): void => {
    if (lease.facts.has(event.id)) return;
    lease.facts.add(event.id);
    // after an expiry, another replica may still record what its client sent just before
    if (lease.releasedBy === 'client') violation(`${event.id} is later than the release of its environment`);
    if (event.type === 'environment.renewed')
      lease.expiresAt = Math.max(lease.expiresAt, Date.parse(event.data.expiresAt));
    if (event.type === 'environment.evaluated') lease.isEvaluated = true;
    if (event.type === 'environment.released') lease.releasedBy ??= event.data.by;
  };
  const on = ({ event }: Audited): void => {
    if (event.type === 'environment.leased') {
      onLeased(event);
      return;
    }
    const lease = leases.get(event.subject);
    if (lease === undefined) {
      if (isLeaseFact(event))
        violation(`${event.id} is about an environment without a lease`, 'conversations');
    } else if (isLeaseFact(event)) onFact(lease, event);
    else if (event.type === 'feedback.given')
      lease.isRewarded ||= event.id !== `${lease.session}/reward/none`;
    else if (event.type === 'session.ended') {
      lease.isEnded = true;
      lease.isDiscarded ||= event.data.discard === true;
    }
  };

  /** Call once, after the last record. */
  const report = () => {
    const all = [...leases.values()];
    for (const { session, isRewarded, isEvaluated, isEnded, isDiscarded } of all)
      if (isRewarded && isEnded && !isDiscarded && !isEvaluated)
        violation(`session ${session} was rewarded, but its environment did not rate it`, 'conversations');
    const open = all.filter(({ releasedBy }) => releasedBy === undefined);
    return {
      leased: all.length,
      evaluated: all.filter(({ isEvaluated }) => isEvaluated).length,
      expired: all.filter(({ releasedBy }) => releasedBy === 'expiry').length,
      open: open.length,
      owed: open.map(
        ({ session, expiresAt }): Owed => ({
          what: `the environment of session ${session} is not free`,
          since: expiresAt,
        }),
      ),
    };
  };
  return { on, report };
}
