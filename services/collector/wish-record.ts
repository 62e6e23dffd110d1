import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { contradict, NO_WISH, wishIdsOf } from '../../shared/wishes/wish-id.ts';
import { type WishKind, wishKinds } from '../../shared/wishes/wishes.ts';
import { isAfter, takeBack, type WishRow, type WishRules, type WishTrack, whenSaid } from './wish-track.ts';

/** Most wishes tracked per person; the one that was quiet longest is dropped. */
const MOST_TRACKS = 24;
/** Verdicts that are kept per wish. */
const LONGEST_COURSE = 60;
/** Share of praise from which on the model is able to meet the wish. */
const LEARNABLE = 0.2;
/** A larger gain in praise from the first half to the second is an improvement. */
const LEAST_GAIN = 0.1;
/** Latest verdicts that decide whether a wish is taken up again, and how many must be praise the first time. */
const SECOND_LOOK = 8;
const LEAST_GOOD = 3;
/** Samples without the complaint after which a new complaint counts as a return of the wish. */
const LONG_QUIET = 20;
/** Samples without the complaint after which the wish counts as met; more teaching would overshoot. */
const MET_QUIET = 12;

export type WishChange = {
  readonly wish: string;
  readonly corrections: number;
  readonly good: number;
  readonly kind: 'set-aside' | 'praised' | 'older-version' | 'came-back';
};

export type NotedWishes = {
  /** wishes that a complaint contains */
  readonly named: readonly string[];
  /** those of them that are set aside */
  readonly setAside: readonly string[];
  /** those of them that a later complaint, which arrived before, contradicts */
  readonly outdated: readonly string[];
  readonly changes: readonly WishChange[];
};

const nothing: NotedWishes = { named: [], setAside: [], outdated: [], changes: [] };

/**
 * Notes a sample in the record of its person's wishes. A wish is set aside if `patience` corrections in a row brought
 * almost no praise, and no more than before: the model cannot learn it, and training on it only drives the policy away
 * from itself. It is taken up again if praise comes nevertheless, if an older version answers, or if it returns after a
 * long time without complaints. A wish replaces an earlier one that it contradicts, and comes back if the person likes
 * the answer after all. Judgments may arrive in another order than the complaints, so the time of the complaint counts.
 */
export function noteWishes(
  draft: Draft,
  { data }: SampleReady,
  patience: number,
  rules?: WishRules,
): NotedWishes {
  if (rules === 2 && isOfCall(data)) return hintsOfCall(draft, data);
  const named = namedWishes(data, rules);
  if (named === undefined) return nothing;
  const table = draft.table<WishRow>('wishes');
  const key = encodeURIComponent(data.key ?? '');
  const changes: WishChange[] = [];
  const tracks = new Map(Object.entries(table.get(key) ?? {}));
  if (data.verdict > 0) takeBack(tracks, data);
  const isLater = ({ said }: WishTrack) => isAfter(said, data.said);
  const outdated = named.filter((wish) =>
    [...tracks].some(([other, track]) => isLater(track) && contradict(other, wish)),
  );
  const counted = data.repeats ? [] : named.filter((wish) => !outdated.includes(wish));
  const replaced: Record<string, WishTrack> = {};
  for (const [wish, track] of tracks) {
    if (!data.inferred && !isLater(track) && counted.some((other) => contradict(other, wish))) {
      const { replaced: _, ...before } = track;
      replaced[wish] = before;
      tracks.delete(wish);
    } else if (!named.includes(wish)) tracks.set(wish, afterOtherVerdict(wish, track, data, changes));
  }
  for (const wish of counted)
    tracks.set(
      wish,
      afterCorrection(wish, tracks.get(wish) ?? beginTrack(replaced), { data, patience, rules, changes }),
    );
  table.set(key, Object.fromEntries(mostRecentTracks(tracks)));
  const setAside = named.filter((wish) => tracks.get(wish)?.setAside !== undefined);
  return { named, setAside, outdated, changes };
}

/** Whether the verdict is on a call of a tool: from its result, or carried back from the answer. */
export const isOfCall = ({ evidence, carried }: SampleReady['data']): boolean =>
  evidence !== undefined || carried !== undefined;

/** A judge's hint on a failed call is no wish of the person, yet must not teach what is set aside or contradicted. */
function hintsOfCall(draft: Draft, { hints, key, said }: SampleReady['data']): NotedWishes {
  const named = [...new Set(hints.flatMap(wishIdsOf))];
  const row = draft.table<WishRow>('wishes').get(encodeURIComponent(key ?? '')) ?? {};
  const setAside = named.filter((wish) => row[wish]?.setAside !== undefined);
  const later = Object.entries(row).filter(([, track]) => isAfter(track.said, said));
  const outdated = named.filter((wish) => later.some(([other]) => contradict(other, wish)));
  return { ...nothing, named, setAside, outdated };
}

/**
 * The wishes of a person that are in force: neither contradicted nor set aside, and with a recent complaint.
 * Praise takes them for a shorter time, because a wish that is met needs no teaching.
 */
export function standingWishes(
  draft: Draft,
  key: string | undefined,
  takes: 'praise' | 'complaint',
): readonly WishKind[] {
  // Without a key the person is unknown.
  if (key === undefined) return [];
  const row = draft.table<WishRow>('wishes').get(encodeURIComponent(key)) ?? {};
  const most = takes === 'praise' ? MET_QUIET : LONG_QUIET;
  const live = wishKinds.filter((kind) => {
    const track = row[kind];
    return track !== undefined && track.setAside === undefined && track.quiet < most;
  });
  // An inferred wish replaces nothing, so contradicting wishes may both be live; then neither is in force.
  return live.filter((kind) => !live.some((other) => contradict(other, kind) || contradict(kind, other)));
}

const emptyTrack: WishTrack = { corrections: 0, course: '', quiet: 0 };

const beginTrack = (replaced: WishRow): WishTrack =>
  Object.keys(replaced).length === 0 ? emptyTrack : { ...emptyTrack, replaced };

/** The wishes that a complaint contains; of praise, none. Undefined: the sample is no opinion of a person. */
export function namedWishes(data: SampleReady['data'], rules?: WishRules): readonly string[] | undefined {
  const { hints, verdict, source, advantage, soft } = data;
  // A reward does not come from a person and contains no wish.
  if (source === 'reward' || advantage !== undefined || soft) return undefined;
  // The verdict on an answer counts once, not again for the calls that led to it. A failed call is nobody's opinion.
  if (rules === 2 && isOfCall(data)) return undefined;
  if (verdict > 0) return [];
  const named = [...new Set(hints.flatMap(wishIdsOf))];
  return named.length > 0 ? named : verdict < 0 ? [NO_WISH] : undefined;
}

/** A verdict that does not name the wish: praise counts for every wish of the person. */
function afterOtherVerdict(
  wish: string,
  track: WishTrack,
  { verdict, version }: SampleReady['data'],
  changes: WishChange[],
): WishTrack {
  const after = {
    ...track,
    quiet: track.quiet + 1,
    ...defined({ course: verdict > 0 ? longer(track.course, '+') : undefined }),
  };
  if (after.setAside === undefined) return after;
  if (version < after.setAside.version) return takeUp(wish, after, 'older-version', changes);
  const recent = after.course.slice(-SECOND_LOOK);
  const needed = Math.min(SECOND_LOOK - 1, LEAST_GOOD + after.setAside.times - 1);
  return count(recent, '+') >= needed ? takeUp(wish, after, 'praised', changes) : after;
}

function afterCorrection(
  wish: string,
  before: WishTrack,
  {
    data,
    patience,
    rules,
    changes,
  }: {
    readonly data: SampleReady['data'];
    readonly patience: number;
    readonly rules: WishRules;
    readonly changes: WishChange[];
  },
): WishTrack {
  const { version } = data;
  const why =
    before.setAside === undefined
      ? undefined
      : version < before.setAside.version
        ? 'older-version'
        : before.quiet >= LONG_QUIET
          ? 'came-back'
          : undefined;
  const track = why === undefined ? before : takeUp(wish, before, why, changes);
  const after: WishTrack = {
    ...track,
    corrections: track.corrections + 1,
    course: longer(track.course, '-'),
    quiet: 0,
    ...whenSaid(track, data, rules),
  };
  if (after.setAside !== undefined) return { ...after, setAside: { ...after.setAside, version } };
  if (after.corrections < patience || improves(lastCourse(after.course, patience))) return after;
  const times = (after.times ?? 0) + 1;
  const { corrections } = after;
  changes.push({ wish, kind: 'set-aside', corrections, good: count(after.course, '+') });
  return { ...after, times, setAside: { times, version } };
}

function takeUp(
  wish: string,
  { times, quiet, corrections, course }: WishTrack,
  kind: WishChange['kind'],
  changes: WishChange[],
): WishTrack {
  changes.push({ wish, kind, corrections, good: count(course, '+') });
  return { ...emptyTrack, quiet, ...defined({ times }) };
}

/** The part of a course that contains the last `corrections` corrections. */
function lastCourse(course: string, corrections: number): string {
  let left = corrections;
  for (let at = course.length - 1; at >= 0; at--) {
    if (course[at] === '-') left -= 1;
    if (left === 0) return course.slice(at);
  }
  return course;
}

/** Whether praise is frequent in the second half of these verdicts, or more frequent than in the first. */
export function improves(course: string): boolean {
  const half = Math.floor(course.length / 2);
  const share = (part: string) => count(part, '+') / Math.max(1, part.length);
  const [first, second] = [share(course.slice(0, half)), share(course.slice(half))];
  return second >= LEARNABLE || second - first >= LEAST_GAIN;
}

const longer = (course: string, verdict: '+' | '-'): string => `${course}${verdict}`.slice(-LONGEST_COURSE);
const count = (course: string, verdict: '+' | '-'): number => course.split(verdict).length - 1;

const mostRecentTracks = (tracks: ReadonlyMap<string, WishTrack>) =>
  [...tracks].sort(([, a], [, b]) => a.quiet - b.quiet).slice(0, MOST_TRACKS);
