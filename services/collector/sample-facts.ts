import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Position } from '../../shared/events/position.ts';
import { SampleDropped } from '../../shared/events/sample-dropped.ts';
import { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import { envelopeOf } from './source.ts';

/** The part of a sample that a judgment decides. */
export type Verdict = Pick<
  SampleReady['data'],
  | 'verdict'
  | 'source'
  | 'advantage'
  | 'following'
  | 'weight'
  | 'soft'
  | 'hints'
  | 'repeats'
  | 'inferred'
  | 'evidence'
  | 'carried'
>;

type DroppedSample = Pick<SampleDropped['data'], 'sampleId' | 'adapter' | 'reason'> & {
  readonly rule?: string | undefined;
};

/** Reports a turn that does not train. Event id: `<sample>/dropped`. */
export const droppedSample = (
  cause: ClawLoopEvent,
  { sampleId, adapter, reason, rule }: DroppedSample,
): SampleDropped =>
  SampleDropped.create({
    ...envelopeOf(cause),
    id: `${sampleId}/dropped`,
    data: { sampleId, adapter, reason, ...defined({ rule }) },
  });

/** The position of a turn's record, and what is known without reading it. */
type TurnRecord = {
  readonly turnId: string;
  readonly adapter: string;
  /** for a revised judgment; by default the turn's id */
  readonly sampleId?: string;
  /** name of the epoch in the rows of `assemble` */
  readonly epoch: string;
  readonly at: Position;
  /** when the person reacted, RFC 3339 */
  readonly said?: string;
};

/** Reports a sample that is ready. Messages and tokens come from the turn's record. */
export const readySample = (cause: ClawLoopEvent, turn: TurnRecord, verdict: Verdict): DeferredEvent => ({
  reads: turn.at,
  id: `${turn.turnId}/completed`,
  gone: () => lostSample(cause, turn, verdict.following),
  create: (record) => {
    const { data, traceparent } = record as TurnCompleted;
    const { adapter, lane, key, session, epoch, version, messages, tools, templateInput, tokens } = data;
    return SampleReady.create({
      ...envelopeOf(cause),
      traceparent,
      id: `${turn.sampleId ?? turn.turnId}/ready`,
      data: {
        sampleId: turn.sampleId ?? turn.turnId,
        adapter,
        lane,
        key,
        session,
        epoch,
        version,
        ...verdict,
        ...defined({ said: turn.said }),
        messages,
        ...defined({ tools, templateInput }),
        tokens,
      },
    });
  },
});

/** Reports a sample whose record cannot be read, and how many samples of its session follow. */
const lostSample = (cause: ClawLoopEvent, turn: TurnRecord, following: number | undefined): SampleDropped => {
  const { turnId, sampleId = turnId, adapter, epoch, at } = turn;
  const coming = following === undefined ? undefined : { session: decodeURIComponent(epoch), following };
  const rule = `turns/${at.partition}/${at.offset}`;
  return SampleDropped.create({
    ...envelopeOf(cause),
    id: `${sampleId}/dropped`,
    data: { sampleId, adapter, reason: 'record-gone', rule, ...defined({ coming }) },
  });
};
