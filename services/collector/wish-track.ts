import { turnOfSample } from '../../shared/events/sample-id.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { defined } from '../../shared/lang/defined.ts';
import { contradict } from '../../shared/wishes/wish-id.ts';
import type { SubmitSettings } from './fold-settings.ts';

export type WishRules = SubmitSettings['wishRules'];

/** A person's verdicts on one wish, since it was first made or last taken up again. */
export type WishTrack = {
  readonly corrections: number;
  /** the latest corrections of this wish, `-`, and praise, `+`, oldest first */
  readonly course: string;
  /** samples of the person since the last correction of this wish */
  readonly quiet: number;
  readonly setAside?: {
    /** how often it has been set aside */
    readonly times: number;
    /** version that sampled the last corrected answer */
    readonly version: number;
  };
  /** how often it was set aside before; absent: never */
  readonly times?: number;
  /** when the latest correction was said, RFC 3339, and the turn that it is about; absent in rows of earlier programs */
  readonly said?: string;
  readonly turn?: string;
  /** its corrections in the order of their judgments: the turn, and when it was said; absent under earlier rules */
  readonly made?: readonly { readonly turn: string; readonly said: string }[];
  /** the wishes that its first correction replaced; absent: none */
  readonly replaced?: WishRow;
};

/** `wishes/<access key>` */
export type WishRow = Readonly<Record<string, WishTrack>>;

/** Corrections of a wish whose turns are kept. Later evidence on a turn comes within a day. */
const MOST_MADE = 12;
/** Whether the first time is after the second. Unknown times are not. */
export const isAfter = (time: string | undefined, other: string | undefined): boolean =>
  time !== undefined && other !== undefined && Date.parse(time) > Date.parse(other);

/** A person likes an answer after all: a wish was misheard from the words about it. */
export function takeBack(tracks: Map<string, WishTrack>, { sampleId }: SampleReady['data']): void {
  const turn = turnOfSample(sampleId);
  if (turn === sampleId) return; // the first judgment
  for (const [wish, track] of [...tracks]) {
    const left = withoutTurn(track, turn);
    if (left === track) continue;
    if (left.corrections > 0) {
      tracks.set(wish, left);
      continue;
    }
    tracks.delete(wish);
    for (const [before, old] of Object.entries(track.replaced ?? {}))
      if (![...tracks.keys()].some((other) => contradict(other, before))) tracks.set(before, old);
  }
}

/** A track without the corrections that are about a turn; the same track if there are none. */
function withoutTurn(track: WishTrack, turn: string): WishTrack {
  const { made, turn: latest, ...others } = track;
  if (made === undefined) return latest === turn ? { ...others, ...withoutCorrections(track, 1) } : track;
  const left = made.filter((one) => one.turn !== turn);
  if (left.length === made.length) return track;
  const said = left.map((one) => one.said).reduce<string | undefined>(laterOf, undefined);
  return {
    ...others,
    ...withoutCorrections(track, made.length - left.length),
    ...defined({ said }),
    made: left,
  };
}

const withoutCorrections = ({ corrections, course }: WishTrack, gone: number) => ({
  corrections: corrections - gone,
  course: Array.from({ length: gone }).reduce<string>(withoutLast, course),
});

const laterOf = (one: string | undefined, other: string): string =>
  one !== undefined && isAfter(one, other) ? one : other;

const withoutLast = (course: string): string => {
  const at = course.lastIndexOf('-');
  return at === -1 ? course : course.slice(0, at) + course.slice(at + 1);
};

/** When the corrections of a wish were said, with a further one. */
export function whenSaid(
  { said: latest, turn: latestTurn, made }: WishTrack,
  { said, sampleId }: SampleReady['data'],
  rules: WishRules,
): Pick<WishTrack, 'said' | 'turn' | 'made'> {
  if (said === undefined) return {};
  const turn = turnOfSample(sampleId);
  if (rules !== 2) return { said, turn };
  const earlier =
    latest === undefined || latestTurn === undefined ? [] : [{ turn: latestTurn, said: latest }];
  return { said: laterOf(latest, said), made: [...(made ?? earlier), { turn, said }].slice(-MOST_MADE) };
}
