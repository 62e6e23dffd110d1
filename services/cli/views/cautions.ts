import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { createPeopleView, type OppositePeople } from './people.ts';

/** Something that a person should know of what is learned, and what they can do about it. No one's words. */
export type Caution = { readonly id: string; readonly what: string; readonly advice?: string };

/** Nats per token, a mean: beyond it answers lose their subjects. */
const FAR_FROM_BASE = 0.12;
/** Of the first version's negative log-prob: below, the policy says ever more the same. */
const NARROW = 0.5;
/** Share of different answers to questions that are kept for it. */
const FEWEST_DISTINCT = 0.7;
/** Candidates in a row that were not served. */
const MANY_REJECTED = 3;
/** Judged turns before shares of them say something, and the share without a verdict that is too much. */
const ENOUGH_JUDGED = 20;
const MOSTLY_UNHEARD = 0.8;

type Learned = {
  first: number | undefined;
  latest: Readonly<Record<string, number>>;
  version: number;
  rejected: number;
  reason: string;
};

/** What is worth a warning, folded from all topics. Feed it each topic in its order. */
export function createCautions() {
  const people = createPeopleView();
  const learned = new Map<string, Learned>();
  const unmet = new Map<string, string>();
  const verdicts = new Map<string, boolean>();

  const of = (adapter: string): Learned => {
    const one = learned.get(adapter) ?? { first: undefined, latest: {}, version: 0, rejected: 0, reason: '' };
    learned.set(adapter, one);
    return one;
  };

  const on = (event: ClawLoopEvent): void => {
    people.on(event);
    switch (event.type) {
      case 'judgment.reached':
        if (event.data.source === 'votes') verdicts.set(event.data.turnId, event.data.score !== 0);
        break;
      case 'policy.trained': {
        const one = of(event.subject);
        one.latest = event.data.metrics;
        one.first ??= event.data.metrics.negativeLogProb;
        one.version = event.data.version;
        break;
      }
      case 'policy.promoted':
        of(event.subject).rejected = 0;
        break;
      case 'policy.rejected': {
        const one = of(event.subject);
        one.rejected += 1;
        one.reason = event.data.reason;
        break;
      }
      default:
        noteWish(event);
    }
  };

  /** A wish that the model does not learn is a fact of its own where one is told. */
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
        `${String(adapter)} does not learn '${String(wish)}': ${String(corrections)} corrections, no change`,
      );
    if (type === 'wish.taken-up') unmet.delete(name);
  };

  const cautions = (): readonly Caution[] => [
    ...[...learned].flatMap(([adapter, one]) => ofPolicy(adapter, one)),
    ...[...unmet].map(([name, what]) => ({
      id: `unmet ${name}`,
      what,
      advice: 'it trains again on new evidence',
    })),
    ...people.opposite().map(ofPeople),
    ...ofHearing([...verdicts.values()]),
  ];
  return { on, cautions };
}

function ofPolicy(
  adapter: string,
  { first, latest, version, rejected, reason }: Learned,
): readonly Caution[] {
  const back = `clawloop policy list, then policy rollback N --adapters ${adapter}`;
  const { klToBase = 0, negativeLogProb, canaryDistinct = 1 } = latest;
  const same = canaryDistinct < FEWEST_DISTINCT;
  const far = klToBase > FAR_FROM_BASE;
  const narrow = first !== undefined && negativeLogProb !== undefined && negativeLogProb < NARROW * first;
  return [
    ...(far
      ? [
          {
            id: `far ${adapter}`,
            what: `v${version} of ${adapter} is ${klToBase.toFixed(2)} nats per token from its base: answers may lose their subject`,
            advice: back,
          },
        ]
      : []),
    ...(narrow
      ? [
          {
            id: `narrow ${adapter}`,
            what: `v${version} of ${adapter} says ever more the same: its answers surprise it ${(negativeLogProb / first).toFixed(2)} times as much as at first`,
            advice: back,
          },
        ]
      : []),
    ...(same
      ? [
          {
            id: `same ${adapter}`,
            what: `v${version} of ${adapter} gives one answer to many questions: ${Math.round(100 * canaryDistinct)} of 100 differ`,
            advice: back,
          },
        ]
      : []),
    ...(rejected >= MANY_REJECTED
      ? [
          {
            id: `rejected ${adapter} ${reason}`,
            what: `the last ${rejected} steps of ${adapter} were not served: ${reason}`,
            advice: 'clawloop policy list shows each',
          },
        ]
      : []),
  ];
}

function ofPeople({ adapter, people: [one, other], wishes }: OppositePeople): Caution {
  const id = `opposite ${adapter} ${one} ${other}`;
  return {
    id,
    what: `${one} and ${other} want the opposite of adapter ${adapter} ('${wishes[0]}', '${wishes[1]}'): it can please neither`,
    advice: splitCommands(adapter),
  };
}

/** An adapter each: names are the operator's to choose. */
const splitCommands = (adapter: string): string =>
  `an adapter each: npm start -- --adapters ${adapter},second, then clawloop keys create NAME --only-adapter second for one of them`;

function ofHearing(heard: readonly boolean[]): readonly Caution[] {
  const unheard = heard.filter((one) => !one).length;
  if (heard.length < ENOUGH_JUDGED || unheard < MOSTLY_UNHEARD * heard.length) return [];
  return [
    {
      id: 'unheard',
      what: `${unheard} of ${heard.length} reactions told the judge neither good nor bad`,
      advice: 'clawloop turns list --why shows them; another judge may understand more (docs/judging.md)',
    },
  ];
}
