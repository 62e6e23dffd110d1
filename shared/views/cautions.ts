import { z } from 'zod';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import { countIds } from '../lang/recent.ts';
import { createPeopleView, type OppositePeople, peopleState, peopleTypes } from './people.ts';

/** A warning about learning, with advice. It contains no text of conversations. */
export type Caution = { readonly id: string; readonly what: string; readonly advice?: string };

/** mean nats per token beyond which answers lose their subject */
const FAR_FROM_BASE = 0.12;
/** share of the first version's negative logprob below which answers become repetitive */
const NARROW = 0.5;
/** least share of distinct answers to the requests of the gate */
const FEWEST_DISTINCT = 0.7;
/** rejected candidates in a row */
const MANY_REJECTED = 3;
/** judged turns needed for a share, and the share of neutral verdicts that is too large */
const ENOUGH_JUDGED = 20;
const MOSTLY_UNHEARD = 0.8;

/** Verdicts whose copies are recognised. */
const REMEMBERED = 10_000;

/** Versions whose figures are remembered for a promotion or a rollback. */
const REMEMBERED_VERSIONS = 32;

const figures = z.record(z.string(), z.number());
const learnedState = z.object({
  first: z.number().optional(),
  /** of the live version */
  latest: figures,
  version: z.int(),
  /** of the last versions that were trained, by number */
  trained: z.array(z.tuple([z.int(), figures])).default([]),
  rejected: z.int(),
  reason: z.string(),
});
type Learned = z.output<typeof learnedState>;

export const cautionsState = z.object({
  people: peopleState,
  learned: z.array(z.tuple([z.string(), learnedState])),
  unmet: z.array(z.tuple([z.string(), z.string()])),
  judged: z.object({ count: z.int(), recent: z.array(z.string()).readonly() }),
  unheard: z.int(),
});
type CautionsState = z.output<typeof cautionsState>;

/** Types of the events that the warnings come from. */
export const cautionTypes: ReadonlySet<string> = new Set<ClawLoopEvent['type']>([
  ...peopleTypes,
  ...(['policy.trained', 'policy.promoted', 'policy.rejected', 'policy.rolled-back'] as const),
  ...(['wish.set-aside', 'wish.taken-up'] as const),
]);

/** Warnings, folded from all topics. Feed it each topic in order. */
export function createCautions(from?: CautionsState) {
  const people = createPeopleView(from?.people);
  const learned = new Map(from?.learned.map(([adapter, state]) => [adapter, { ...state }]));
  const unmet = new Map(from?.unmet);
  const judged = countIds(REMEMBERED, from?.judged);
  let unheard = from?.unheard ?? 0;

  const of = (adapter: string): Learned => {
    const known = learned.get(adapter) ?? {
      first: undefined,
      latest: {},
      version: 0,
      trained: [],
      rejected: 0,
      reason: '',
    };
    learned.set(adapter, known);
    return known;
  };

  const on = (event: ClawLoopEvent): void => {
    people.on(event);
    switch (event.type) {
      case 'judgment.reached':
        if (event.data.source === 'votes' && judged.add(event.data.turnId) && event.data.score === 0)
          unheard += 1;
        break;
      case 'policy.trained': {
        const adapter = of(event.subject);
        const { version, metrics } = event.data;
        adapter.first ??= metrics.negativeLogProb;
        adapter.trained = [...adapter.trained.slice(1 - REMEMBERED_VERSIONS), [version, metrics]];
        break;
      }
      case 'policy.promoted': {
        const adapter = of(event.subject);
        adapter.rejected = 0;
        goLive(adapter, event.data.to);
        break;
      }
      case 'policy.rolled-back':
        goLive(of(event.subject), event.data.to);
        break;
      case 'policy.rejected': {
        const adapter = of(event.subject);
        adapter.rejected += 1;
        adapter.reason = event.data.reason;
        break;
      }
      default:
        noteWish(event);
    }
  };

  const noteWish = (event: ClawLoopEvent): void => {
    const { type, data } = event as {
      readonly type: string;
      readonly data: Readonly<Record<string, unknown>>;
    };
    const { adapter, wish, corrections } = data;
    const name = `${String(adapter)}/${String(wish)}`;
    if (type === 'wish.set-aside')
      unmet.set(
        name,
        `adapter ${String(adapter)} does not learn '${String(wish)}': ${String(corrections)} corrections without effect`,
      );
    if (type === 'wish.taken-up') unmet.delete(name);
  };

  const cautions = (): readonly Caution[] => [
    ...[...learned].flatMap(([adapter, state]) => ofPolicy(adapter, state)),
    ...[...unmet].map(([name, what]) => ({
      id: `unmet ${name}`,
      what,
      advice: 'training on this wish resumes with new evidence',
    })),
    ...people.opposite().map(ofPeople),
    ...ofHearing(unheard, judged.count()),
  ];
  const state = (): CautionsState => ({
    people: people.state(),
    learned: [...learned],
    unmet: [...unmet],
    judged: judged.state(),
    unheard,
  });
  return { on, cautions, state };
}

/** A candidate that was rejected never answers, so its figures warn of nothing. */
function goLive(adapter: Learned, version: number): void {
  adapter.version = version;
  adapter.latest = adapter.trained.findLast(([trained]) => trained === version)?.[1] ?? {};
}

function ofPolicy(
  adapter: string,
  { first, latest, version, rejected, reason }: Learned,
): readonly Caution[] {
  const rollBack = `go back with npx clawloop policy rollback N --adapters ${adapter}; npx clawloop policy list shows the versions`;
  const { klToBase = 0, negativeLogProb, canaryDistinct } = latest;
  const same = (canaryDistinct ?? 1) < FEWEST_DISTINCT;
  const far = klToBase > FAR_FROM_BASE;
  // of one batch's answers, so the gate's own answers tell more, where it asked for any
  const narrow =
    canaryDistinct === undefined &&
    first !== undefined &&
    negativeLogProb !== undefined &&
    negativeLogProb < NARROW * first;
  return [
    ...(far
      ? [
          {
            id: `far ${adapter}`,
            what: `v${version} of ${adapter} answers very differently from its base (${klToBase.toFixed(2)} nats per token), and may miss the subject`,
            advice: rollBack,
          },
        ]
      : []),
    ...(narrow
      ? [
          {
            id: `narrow ${adapter}`,
            what: `v${version} of ${adapter} may repeat itself: the negative logprob of its answers is ${(negativeLogProb / first).toFixed(2)} of the first version's`,
            advice: rollBack,
          },
        ]
      : []),
    ...(same
      ? [
          {
            id: `same ${adapter}`,
            what: `v${version} of ${adapter} gives the same answer to many questions: only ${Math.round(100 * (canaryDistinct ?? 1))} of 100 differ`,
            advice: rollBack,
          },
        ]
      : []),
    ...(rejected >= MANY_REJECTED
      ? [
          {
            id: `rejected ${adapter} ${reason}`,
            what: `the last ${rejected} steps of ${adapter} were rejected: ${reason}`,
            advice: 'see npx clawloop policy list',
          },
        ]
      : []),
  ];
}

function ofPeople({ adapter, people: [one, other], wishes }: OppositePeople): Caution {
  const id = `opposite ${adapter} ${one} ${other}`;
  return {
    id,
    what: `${one} and ${other} want opposite things from adapter ${adapter} ('${wishes[0]}', '${wishes[1]}')`,
    advice: splitCommands(adapter),
  };
}

/** One adapter for each person; the operator chooses the names. */
const splitCommands = (adapter: string): string =>
  `give each their own adapter: npm start -- --adapters ${adapter},second, then clawloop keys create NAME --only-adapter second`;

function ofHearing(unheard: number, judged: number): readonly Caution[] {
  if (judged < ENOUGH_JUDGED || unheard < MOSTLY_UNHEARD * judged) return [];
  return [
    {
      id: 'unheard',
      what: `the judge heard ${unheard} of ${judged} reactions as neither good nor bad`,
      advice: 'see clawloop turns list --why; another judge may understand more (docs/understand/judging.md)',
    },
  ];
}
