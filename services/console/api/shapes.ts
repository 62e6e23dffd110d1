import type { WatchedVersion } from '../../../shared/lineage/watched-versions.ts';
import type { NewerRecord } from '../../../shared/log/event-log.ts';
import type { DiskUse } from '../../../shared/runtime/disk-use.ts';
import type { Place } from '../../../shared/views/place.ts';
import type { AuditResult } from '../audits.ts';
import type { CheckSettings } from '../check-settings.ts';
import type { FoldLag, ServiceState } from '../look-around.ts';
import type { DeadLetter } from '../model/console-model.ts';
import type { Decision, ShownVersion } from '../model/decisions.ts';
import type { Facets } from '../model/facets.ts';
import type { TurnFilter } from '../model/find-turns.ts';
import type { LearningView } from '../model/learning.ts';
import type { SessionPage as FoundSessions, Person } from '../model/people.ts';
import type { RunningCanary } from '../model/version-watch.ts';
import type { Explanation } from '../reasons.ts';

/** What the page receives. Times are ms since 1970 or ISO texts. */

export type AdapterState = {
  readonly name: string;
  readonly head: number;
  readonly served: number | null;
  readonly isPaused: boolean;
  /** the version that is being trained */
  readonly training: number | null;
  /** samples that wait for a batch */
  readonly waiting: number;
};

export type Overview = {
  readonly logId: string;
  readonly model: string;
  /** address of serving for clients */
  readonly clientUrl: string;
  readonly needsKey: boolean;
  /** flags that make a command of the terminal use this data folder: ` --data-folder ...`, or nothing */
  readonly folderFlag: string;
  /** 0 to 1: how much of the log has been read */
  readonly progress: number;
  /** null: the log answers */
  readonly logAway: { readonly place: string; readonly since: string } | null;
  /** topics whose first records were removed; `before`: ISO time that none of these reaches, null: unknown */
  readonly trimmed: readonly { readonly topic: string; readonly before: string | null }[];
  /** partitions that this console reads no further, since the record there is of a newer version */
  readonly stopped: readonly NewerRecord[];
  readonly turns: number;
  readonly adapters: readonly AdapterState[];
  readonly cautions: readonly { readonly id: string; readonly what: string; readonly advice?: string }[];
  readonly firstRun: {
    readonly chatted: boolean;
    readonly reacted: boolean;
    readonly judged: boolean;
    readonly learned: boolean;
  };
};

/** A message of the live stream. `turns`: the first ids that changed; more may have. */
export type Change = Overview & {
  readonly changed: { readonly turns: readonly string[]; readonly versions: boolean };
};

export type TurnItem = {
  readonly id: string;
  readonly time: number;
  readonly session: string;
  readonly person: string;
  readonly user: string | null;
  readonly adapter: string;
  readonly version: number;
  readonly live: boolean;
  readonly asked: string;
  readonly answered: string;
  readonly reaction: string;
  readonly score: number | null;
  readonly verdict: TurnFilter['verdict'] | null;
  /** score, source and votes in words */
  readonly verdictText: string;
  readonly hints: readonly string[];
  readonly outcome: NonNullable<TurnFilter['outcome']>;
  /** in a few words */
  readonly stage: string;
  readonly reason: string | null;
  readonly explanation: Explanation | null;
  readonly trainedIn: number | null;
  readonly isDeleted: boolean;
};
export type TurnPage = { readonly turns: readonly TurnItem[]; readonly next: string | null };
export type TurnFacets = Facets;

/** One record, its texts without secrets and its long lists shortened. */
export type ShownRecord = {
  readonly place: Place;
  /** null: it is no longer in the log, or cannot be read */
  readonly event: {
    readonly id: string;
    readonly type: string;
    readonly source: string;
    readonly time: string;
    readonly subject: string;
    readonly data: Readonly<Record<string, unknown>>;
  } | null;
};
export type TurnDetail = {
  readonly turn: TurnItem;
  readonly rule: string;
  /** in the order of the loop */
  readonly records: readonly ShownRecord[];
  readonly mayWithdraw: boolean;
};
export type RecordPage = ShownRecord & {
  readonly ends: readonly number[];
  readonly starts: readonly number[];
};

export type Learning = LearningView & { readonly adapter: string; readonly setAside: readonly string[] };

export type Versions = {
  readonly adapter: string;
  readonly head: number;
  readonly served: number | null;
  readonly isPaused: boolean;
  readonly training: number | null;
  /** of the shown versions, and 0 */
  readonly wasServed: readonly number[];
  /** the latest, oldest first */
  readonly versions: readonly ShownVersion[];
  /** number of all versions */
  readonly total: number;
  /** newest first */
  readonly decisions: readonly Decision[];
  /** verdicts on answers of the shown versions */
  readonly verdicts: LearningView['versions'];
};

/** How bad versions are stopped. Evidence reaches 1 / alpha before it decides. */
export type VersionChecks = {
  readonly adapter: string;
  readonly head: number;
  /** of the collector, as the log has them; null: it has not formed a batch yet */
  readonly settings: CheckSettings | null;
  readonly canary:
    | (Omit<RunningCanary, 'canary'> & {
        readonly from: number;
        readonly to: number;
        readonly share: number;
        readonly sessions: { readonly parent: number; readonly candidate: number };
        /** that the candidate's rate of bad verdicts is higher, and that it is not higher by the margin */
        readonly evidence: { readonly worse: number; readonly notWorse: number };
      })
    | null;
  /** newest first */
  readonly watched: readonly (WatchedVersion & { readonly evidence: number })[];
  /** those with numbers, newest first */
  readonly decisions: readonly Decision[];
  /** what the gate measured, newest first */
  readonly gate: readonly {
    readonly version: number;
    readonly outcome: string;
    readonly metrics: Readonly<Record<string, number>>;
  }[];
};

export type Flow = {
  /** null: the log does not answer */
  readonly log: {
    readonly topics: readonly {
      readonly topic: string;
      readonly records: number;
      readonly ends: readonly number[];
    }[];
    readonly folds: readonly FoldLag[];
  } | null;
  readonly services: readonly ServiceState[];
  readonly letters: { readonly count: number; readonly latest: readonly DeadLetter[] };
  readonly disk: DiskUse;
  readonly audit: AuditResult | null;
  readonly queue: string;
};

export type People = {
  readonly keys: readonly {
    readonly id: string;
    readonly name: string;
    readonly adapter: string | null;
    readonly isOperator: boolean;
    readonly createdAt: string;
    readonly expiresAt: string | null;
    readonly limits: string;
  }[];
  readonly people: readonly Person[];
};

export type SessionPage = FoundSessions;
export type SessionItem = SessionPage['sessions'][number];
