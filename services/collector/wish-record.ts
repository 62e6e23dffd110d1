import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { contradict, NO_WISH, wishIdsOf } from '../../shared/wishes/wish-id.ts';
import { type WishKind, wishKinds } from '../../shared/wishes/wishes.ts';

/** What a person's verdicts say of one wish, since it was first told or was taken up again. */
export type WishTrack = {
  readonly corrections: number;
  /** of this wish, `-`, and praise, `+`: the last ones, oldest first */
  readonly course: string;
  /** samples of the person since the last correction of this wish */
  readonly quiet: number;
  readonly setAside?: {
    /** how often by now */
    readonly times: number;
    /** that sampled the last correction */
    readonly version: number;
  };
  /** how often it was set aside before; absent: never */
  readonly times?: number;
};

/** `wishes/<access key>` */
type WishRow = Readonly<Record<string, WishTrack>>;

/** Of a person, at most; the one that was quiet longest goes. */
const MOST_TRACKS = 24;
/** Verdicts that are remembered of a wish. */
const LONGEST_COURSE = 60;
/** Where praise is this frequent, the model can meet the wish. */
const LEARNABLE = 0.2;
/** A larger gain in praise from the first half to the second is an improvement. */
const LEAST_GAIN = 0.1;
/** Verdicts that are looked at before a wish is taken up again, and how many of them must be good the first time. */
const SECOND_LOOK = 8;
const LEAST_GOOD = 3;
/** Samples without the complaint, after which it counts as one that comes back. */
const LONG_QUIET = 20;
/** Samples without the complaint, after which the model counts as meeting the wish: more would overshoot. */
const MET_QUIET = 12;

export type WishChange = {
  readonly wish: string;
  readonly corrections: number;
  readonly good: number;
  readonly kind: 'set-aside' | 'praised' | 'older-version' | 'came-back';
};

export type NotedWishes = {
  /** of a complaint: the wishes that it says */
  readonly told: readonly string[];
  /** among those, set aside */
  readonly setAside: readonly string[];
  readonly changes: readonly WishChange[];
};

const nothing: NotedWishes = { told: [], setAside: [], changes: [] };

/**
 * Takes a sample down in the record of its person's wishes. A wish is set aside where `patience` corrections in
 * a row have brought next to no praise, and not more than before: the model cannot learn it, and what is trained
 * for it pushes the policy nowhere but away from itself. It is taken up again where praise comes nevertheless,
 * where an older version answers, and where it comes back after it was quiet for long. A wish takes the place of
 * one that it contradicts.
 */
export function noteWishes(draft: Draft, { data }: SampleReady, patience: number): NotedWishes {
  // a reward is no person, and knows no wish
  if (data.source === 'reward' || data.advantage !== undefined || data.soft) return nothing;
  const table = draft.table<WishRow>('wishes');
  const key = encodeURIComponent(data.key ?? '');
  const told = wishesOf(data);
  if (told.length === 0 && data.verdict <= 0) return nothing;
  const changes: WishChange[] = [];
  const tracks = new Map(Object.entries(table.get(key) ?? {}));
  for (const [wish, track] of tracks) {
    if (!data.inferred && told.some((one) => contradict(one, wish))) tracks.delete(wish);
    else if (!told.includes(wish)) tracks.set(wish, notTold(wish, track, data, changes));
  }
  for (const wish of told)
    tracks.set(wish, corrected(wish, tracks.get(wish) ?? emptyTrack, { data, patience, changes }));
  table.set(key, Object.fromEntries(bounded(tracks)));
  const setAside = told.filter((wish) => tracks.get(wish)?.setAside !== undefined);
  return { told, setAside, changes };
}

/**
 * Known wishes that a person has told and that nothing speaks against: neither contradicted nor set aside. What
 * nobody complained of for long stands no more. Praise takes them for less long: a wish that is met needs no teaching.
 */
export function standingWishes(
  draft: Draft,
  key: string | undefined,
  takes: 'praise' | 'complaint',
): readonly WishKind[] {
  // without a key nobody knows who told what
  if (key === undefined) return [];
  const row = draft.table<WishRow>('wishes').get(encodeURIComponent(key)) ?? {};
  const most = takes === 'praise' ? MET_QUIET : LONG_QUIET;
  const live = wishKinds.filter((kind) => {
    const track = row[kind];
    return track !== undefined && track.setAside === undefined && track.quiet < most;
  });
  // a guess takes the place of nothing that was said: of two that exclude each other none stands
  return live.filter((kind) => !live.some((one) => contradict(one, kind) || contradict(kind, one)));
}

const emptyTrack: WishTrack = { corrections: 0, course: '', quiet: 0 };

function wishesOf({ hints, verdict }: SampleReady['data']): readonly string[] {
  if (verdict > 0) return [];
  const told = [...new Set(hints.flatMap(wishIdsOf))];
  return told.length > 0 ? told : verdict < 0 ? [NO_WISH] : [];
}

/** The person said something else: praise counts for every wish of theirs. */
function notTold(
  wish: string,
  track: WishTrack,
  { verdict, version }: SampleReady['data'],
  changes: WishChange[],
): WishTrack {
  const after = {
    ...track,
    quiet: track.quiet + 1,
    ...(verdict > 0 ? { course: longer(track.course, '+') } : {}),
  };
  if (after.setAside === undefined) return after;
  if (version < after.setAside.version) return takenUp(wish, after, 'older-version', changes);
  const recent = after.course.slice(-SECOND_LOOK);
  const needed = Math.min(SECOND_LOOK - 1, LEAST_GOOD + after.setAside.times - 1);
  return count(recent, '+') >= needed ? takenUp(wish, after, 'praised', changes) : after;
}

function corrected(
  wish: string,
  before: WishTrack,
  {
    data: { version },
    patience,
    changes,
  }: {
    readonly data: SampleReady['data'];
    readonly patience: number;
    readonly changes: WishChange[];
  },
): WishTrack {
  const why =
    before.setAside === undefined
      ? undefined
      : version < before.setAside.version
        ? 'older-version'
        : before.quiet >= LONG_QUIET
          ? 'came-back'
          : undefined;
  const track = why === undefined ? before : takenUp(wish, before, why, changes);
  const after: WishTrack = {
    ...track,
    corrections: track.corrections + 1,
    course: longer(track.course, '-'),
    quiet: 0,
  };
  if (after.setAside !== undefined) return { ...after, setAside: { ...after.setAside, version } };
  if (after.corrections < patience || improves(lastCourse(after.course, patience))) return after;
  const times = (after.times ?? 0) + 1;
  const { corrections } = after;
  changes.push({ wish, kind: 'set-aside', corrections, good: count(after.course, '+') });
  return { ...after, times, setAside: { times, version } };
}

function takenUp(
  wish: string,
  { times, quiet, corrections, course }: WishTrack,
  kind: WishChange['kind'],
  changes: WishChange[],
): WishTrack {
  changes.push({ wish, kind, corrections, good: count(course, '+') });
  return { ...emptyTrack, quiet, ...(times === undefined ? {} : { times }) };
}

/** From the first of the last so many corrections on. */
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

const bounded = (tracks: ReadonlyMap<string, WishTrack>) =>
  [...tracks].sort(([, a], [, b]) => a.quiet - b.quiet).slice(0, MOST_TRACKS);
