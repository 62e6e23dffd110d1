import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Position } from '../../shared/events/position.ts';
import { SampleDropped } from '../../shared/events/sample-dropped.ts';
import { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import { facts } from './source.ts';

/** What a turn is learned from. */
export type Verdict = Pick<
  SampleReady['data'],
  'verdict' | 'source' | 'advantage' | 'following' | 'soft' | 'hints' | 'inferred' | 'evidence' | 'carried'
>;

/** A turn that does not train, and why. Id: `<turn>/dropped`. */
export const dropped = (
  cause: ClawLoopEvent,
  sampleId: string,
  adapter: string,
  reason: SampleDropped['data']['reason'],
  rule?: string,
) =>
  SampleDropped.create({
    ...facts(cause),
    id: `${sampleId}/dropped`,
    data: { sampleId, adapter, reason, ...(rule === undefined ? {} : { rule }) },
  });

/** A turn that waits for its verdict: where its record is, and what is known without it. */
export type TurnRecord = {
  readonly turnId: string;
  readonly adapter: string;
  /** of a revised judgment; else the turn's id */
  readonly sampleId?: string;
  /** as `epoch` names it in the rows of `assemble` */
  readonly epoch: string;
  readonly at: Position;
};

/** One that does. The turn's record holds messages and tokens; its verdict comes from what settled it. */
export const ready = (cause: ClawLoopEvent, of: TurnRecord, verdict: Verdict): DeferredEvent => ({
  reads: of.at,
  id: `${of.turnId}/completed`,
  gone: () => lost(cause, of, verdict.following),
  create: (record) => {
    const { data: turn } = record as TurnCompleted;
    const { adapter, lane, key, session, epoch, version, messages, tools, templateInput, tokens } = turn;
    return SampleReady.create({
      ...facts(cause),
      id: `${of.sampleId ?? of.turnId}/ready`,
      data: {
        sampleId: of.sampleId ?? of.turnId,
        adapter,
        lane,
        key,
        session,
        epoch,
        version,
        ...verdict,
        messages,
        ...(tools === undefined ? {} : { tools }),
        ...(templateInput === undefined ? {} : { templateInput }),
        tokens,
      },
    });
  },
});

/** Its record cannot be read. Whoever waits for the samples of its session is told how many more come. */
const lost = (cause: ClawLoopEvent, turn: TurnRecord, following: number | undefined): SampleDropped => {
  const { turnId, sampleId = turnId, adapter, epoch, at } = turn;
  const coming = following === undefined ? {} : { coming: { session: decodeURIComponent(epoch), following } };
  const rule = `turns/${at.partition}/${at.offset}`;
  return SampleDropped.create({
    ...facts(cause),
    id: `${sampleId}/dropped`,
    data: { sampleId, adapter, reason: 'record-gone', rule, ...coming },
  });
};
