import type { ClawLoopEvent } from '../events/catalogue.ts';
import { defined } from '../lang/defined.ts';
import { isLogError } from '../log/errors.ts';
import type { EventLog } from '../log/event-log.ts';
import { readToEnd } from '../log/read-topic.ts';
import { packPlace, unpackPlace } from './place.ts';
import type { TurnRow } from './turn-row.ts';
import { answeredIn, askedIn, spokenIn } from './turn-texts.ts';
import type { TurnView } from './turn-view.ts';

/** What was said about a turn, in full and with its secrets. */
export type TurnTexts = {
  readonly asked: string;
  readonly answered: string;
  readonly reaction: string;
  /** a hint inferred from what the person's complaints have in common */
  readonly inferred: string | undefined;
  readonly hints: readonly string[];
};

/** The view of a turn with what was said. */
export const withTexts = (view: TurnView, { asked, answered, reaction, inferred }: TurnTexts): TurnView => ({
  ...view,
  asked,
  answered,
  reaction,
  ...defined({ inferred }),
});

type Places = Pick<TurnRow, 'at' | 'reactionAt' | 'hintsAt' | 'inferredAt'>;
type Said = Partial<Omit<TurnTexts, 'inferred'>> & { readonly inferred?: string | undefined };

const placesOf = ({ at, reactionAt, hintsAt, inferredAt }: Places): readonly number[] =>
  [...new Set([at, reactionAt, hintsAt, inferredAt])].filter((place) => place !== undefined);

const nothing: Said = {};

/** Of a record that is gone, nothing is left. */
function textsFrom(row: Places, saidAt: (place: number) => Said | undefined): TurnTexts {
  const at = (place: number | undefined): Said =>
    place === undefined ? nothing : (saidAt(place) ?? nothing);
  const { asked = '', answered = '' } = at(row.at);
  return {
    asked,
    answered,
    reaction: at(row.reactionAt).reaction ?? '',
    inferred: at(row.inferredAt).inferred,
    hints: at(row.hintsAt).hints ?? [],
  };
}

function saidIn(event: ClawLoopEvent): Said {
  switch (event.type) {
    case 'interaction.completed':
      return { asked: askedIn(event.data), answered: answeredIn(event.data) };
    case 'turn.completed':
    case 'turn.continued':
      return { reaction: spokenIn(event.data.next) };
    case 'judgment.reached':
      return { hints: event.data.hints, inferred: event.data.inferred };
    case 'judgment.revised':
      return { hints: event.data.hints };
    default:
      return nothing;
  }
}

/** Reads what was said about a turn from its records. @throws LogUnavailable */
export async function readTexts(log: Pick<EventLog, 'read'>, row: Places): Promise<TurnTexts> {
  const said = await Promise.all(
    placesOf(row).map(async (place) => [place, await saidAtPlace(log, place)] as const),
  );
  const byPlace = new Map(said);
  return textsFrom(row, (place) => byPlace.get(place));
}

async function saidAtPlace(log: Pick<EventLog, 'read'>, packed: number): Promise<Said> {
  const event = await readPlace(log, packed);
  return event === undefined ? nothing : saidIn(event);
}

/** The record at a packed place; undefined: it is gone. */
async function readPlace(log: Pick<EventLog, 'read'>, packed: number): Promise<ClawLoopEvent | undefined> {
  const { topic, ...at } = unpackPlace(packed);
  try {
    return await log.read(topic, at);
  } catch (error) {
    if (isLogError(error, 'RecordGone') || isLogError(error, 'BrokenRecord')) return undefined;
    throw error;
  }
}

/** The records at packed places, without those that are gone. @throws LogUnavailable */
export async function readPlaces(
  log: Pick<EventLog, 'read'>,
  places: readonly number[],
): Promise<readonly ClawLoopEvent[]> {
  const read = await Promise.all(places.map((place) => readPlace(log, place)));
  return read.filter((event) => event !== undefined);
}

/** Turns whose records are read each at its place; for more, one pass over the log is faster. */
const FEW = 500;
const AT_ONCE = 16;

/** What was said about these turns, by their ids. */
export async function readTextsOf(
  log: Pick<EventLog, 'read' | 'follow' | 'ends'>,
  rows: readonly TurnRow[],
): Promise<ReadonlyMap<string, TurnTexts>> {
  if (rows.length > FEW) return readTextsInPass(log, rows);
  const texts = new Map<string, TurnTexts>();
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const some = rows.slice(from, from + AT_ONCE);
    const read = await Promise.all(some.map((row) => readTexts(log, row)));
    for (const [index, row] of some.entries()) texts.set(row.id, read[index]!);
  }
  return texts;
}

async function readTextsInPass(
  log: Pick<EventLog, 'follow' | 'ends'>,
  rows: readonly TurnRow[],
): Promise<ReadonlyMap<string, TurnTexts>> {
  const wanted = new Set(rows.flatMap(placesOf));
  const said = new Map<number, Said>();
  for (const topic of ['conversations', 'turns'] as const)
    await readToEnd(
      log,
      topic,
      ({ event, at }) => void said.set(packPlace({ topic, ...at }), saidIn(event)),
      { until: await log.ends(topic), wants: ({ at }) => wanted.has(packPlace({ topic, ...at })) },
    );
  return new Map(rows.map((row) => [row.id, textsFrom(row, (place) => said.get(place))]));
}
