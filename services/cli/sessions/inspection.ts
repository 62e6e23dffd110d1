import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import { defined } from '../../../shared/lang/defined.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { createPolicyView, type VersionView } from '../../../shared/views/policy-view.ts';
import type { TurnView } from '../../../shared/views/turn-view.ts';
import { TurnViews } from '../../../shared/views/turn-views.ts';

type Vote = { readonly vote: string; readonly judge: string; readonly hint?: string };
type Sample = { readonly id: string; readonly result: string; readonly batchId?: string };

/** A turn with all that came of it. `records`: where its events are, as type and topic/partition/offset. */
export type InspectedTurn = {
  readonly turn: TurnView;
  readonly votes: readonly Vote[];
  readonly hints: readonly string[];
  readonly samples: readonly Sample[];
  readonly records: readonly string[];
};

export type InspectedBatch = {
  readonly batchId: string;
  readonly version: VersionView;
  /** samples of this session */
  readonly own: number;
};

export type Inspection = {
  readonly session: string;
  readonly task: string | undefined;
  readonly turns: readonly InspectedTurn[];
  readonly batches: readonly InspectedBatch[];
  /** how its epochs began and ended, in order: opened, closed, discarded */
  readonly ends: readonly string[];
  /** version that answers now, by adapter of its turns */
  readonly heads: Readonly<Record<string, number>>;
};

type Details = {
  readonly votes: Map<string, Vote>;
  readonly samples: Map<string, Sample>;
  readonly records: string[];
  hints: readonly string[];
};

/** Collects what the log says about one session. Feed it the topics in the order of the loop. */
export function inspectSession(session: string) {
  const views = new TurnViews();
  const policies = new Map<string, ReturnType<typeof createPolicyView>>();
  const details = new Map<string, Details>();
  const ends: string[] = [];
  let task: string | undefined;
  const detailsOf = (turnId: string): Details => {
    const known = details.get(turnId) ?? { votes: new Map(), samples: new Map(), records: [], hints: [] };
    details.set(turnId, known);
    return known;
  };
  const on = ({ event, at }: Recorded, topic: Topic): void => {
    views.on(event);
    if (topic === 'training') {
      const policy = policies.get(event.subject) ?? createPolicyView(event.subject);
      policies.set(event.subject, policy);
      policy.on(event);
    }
    if (event.type === 'session.started' && event.data.session === session) task = event.data.task;
    if (event.type === 'session.opened' && event.data.session === session) ends.push(`opened ${event.time}`);
    if (event.type === 'session.closed' && event.data.session === session)
      ends.push(`${event.data.discard ? 'discarded' : 'closed'} ${event.time}`);
    const turnId = turnIdOf(event);
    if (turnId === undefined) {
      if (event.type === 'batch.submitted')
        for (const { sampleId } of event.data.samples) {
          const { samples } = detailsOf(turnOfSample(sampleId));
          const before = samples.get(sampleId);
          if (before !== undefined) samples.set(sampleId, { ...before, batchId: event.data.batchId });
        }
      return;
    }
    const detail = detailsOf(turnId);
    detail.records.push(`${event.type} ${topic}/${at.partition}/${at.offset}`);
    note(detail, event);
  };
  const result = (): Inspection => {
    const turns = [...views.turns.values()]
      .filter((turn) => turn.session === session)
      .map((turn): InspectedTurn => {
        const { votes, samples, records, hints } = detailsOf(turn.turnId);
        return { turn, votes: [...votes.values()], hints, samples: [...samples.values()], records };
      });
    return {
      session,
      task,
      turns,
      ends,
      batches: batchesOf(turns, policies),
      heads: headsOf(turns, policies),
    };
  };
  return { on, result };
}

function turnIdOf(event: ClawLoopEvent): string | undefined {
  switch (event.type) {
    case 'interaction.completed':
      return event.id;
    case 'turn.completed':
    case 'turn.continued':
    case 'turn.skipped':
    case 'turn.feedback':
    case 'turn.withdrawn':
    case 'vote.cast':
    case 'hint.cast':
    case 'vote.failed':
    case 'judgment.reached':
    case 'judgment.revised':
      return event.data.turnId;
    case 'sample.ready':
    case 'sample.dropped':
    case 'sample.withdrawn':
      return turnOfSample(event.data.sampleId);
    default:
      return undefined;
  }
}

function note(detail: Details, event: ClawLoopEvent): void {
  switch (event.type) {
    case 'vote.cast': {
      const { vote, judge, hint } = event.data;
      if (!detail.votes.has(event.id))
        detail.votes.set(event.id, {
          vote: vote === null ? 'no verdict' : String(vote),
          judge,
          ...defined({ hint }),
        });
      break;
    }
    case 'judgment.reached':
    case 'judgment.revised':
      detail.hints = [...new Set([...detail.hints, ...event.data.hints])];
      break;
    case 'sample.ready': {
      const { sampleId: id, verdict, source } = event.data;
      if (!detail.samples.has(id))
        detail.samples.set(id, { id, result: `ready, verdict ${verdict} by ${source}` });
      break;
    }
    case 'sample.dropped': {
      const { sampleId: id, reason } = event.data;
      detail.samples.set(id, { ...detail.samples.get(id), id, result: `dropped: ${reason}` });
    }
  }
}

type Policies = ReadonlyMap<string, ReturnType<typeof createPolicyView>>;

function batchesOf(turns: readonly InspectedTurn[], policies: Policies): readonly InspectedBatch[] {
  const counts = new Map<string, number>();
  for (const { batchId } of turns.flatMap(({ samples }) => samples))
    if (batchId !== undefined) counts.set(batchId, (counts.get(batchId) ?? 0) + 1);
  const versions = [...policies.values()].flatMap((policy) => [...policy.versions.values()]);
  return versions.flatMap((version) => {
    const own = counts.get(version.batchId);
    return own === undefined ? [] : [{ batchId: version.batchId, version, own }];
  });
}

const headsOf = (turns: readonly InspectedTurn[], policies: Policies) =>
  Object.fromEntries(
    [...new Set(turns.map(({ turn }) => turn.adapter))].map((adapter) => [
      adapter,
      policies.get(adapter)?.head().head ?? 0,
    ]),
  );
