import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { topics } from '../../../shared/events/define-event.ts';
import { describeStage, describeVerdict } from '../../../shared/views/describe-turn.ts';
import type { FoundTurn } from '../../../shared/views/found-turn.ts';
import { type Place, unpackPlace } from '../../../shared/views/place.ts';
import { type TurnTexts, withTexts } from '../../../shared/views/read-texts.ts';
import type { TurnRow } from '../../../shared/views/turn-row.ts';
import { ConsoleError } from '../errors.ts';
import { countFacets } from '../model/facets.ts';
import { findTurns, outcomeOf, reasonOf, verdictOf } from '../model/find-turns.ts';
import { explain } from '../reasons.ts';
import { type ConsoleDeps, readable } from './console-deps.ts';
import { adapterQuery, readQuery, turnQuery } from './read-query.ts';
import type { RecordPage, TurnDetail, TurnItem, TurnPage } from './shapes.ts';
import { showRecord } from './show-record.ts';

const placeParams = z.object({
  topic: z.enum(topics),
  partition: z.coerce.number().int().min(0).max(255),
  offset: z.coerce
    .number()
    .int()
    .min(0)
    .max(2 ** 40 - 1),
});

/** Records of one turn that are read at most; a turn has about ten. */
const MOST_RECORDS = 100;

/** The list of turns, one turn with its chain of records, and single records. */
export function registerTurns(
  server: FastifyInstance,
  { model, log, cached, texts, logAway }: ConsoleDeps,
): void {
  const { turns: table } = model;

  const shown = readable(texts, logAway);
  const item = async (found: FoundTurn): Promise<TurnItem> => turnItem(found, await shown(found.row));

  server.get('/api/turns', async (request): Promise<TurnPage> => {
    const { cursor, limit, ...filter } = readQuery(turnQuery, request);
    const page = await findTurns(table, filter, { cursor, limit, texts: shown });
    return { turns: await Promise.all(page.turns.map(item)), next: page.next };
  });

  server.get('/api/turns/facets', async (request) => {
    const { adapter } = readQuery(adapterQuery, request);
    return cached(`facets ${adapter ?? ''}`, () => countFacets(table, adapter));
  });

  server.get<{ Params: { id: string } }>('/api/turns/:id', async ({ params }): Promise<TurnDetail> => {
    const found = table.turn(params.id);
    if (found === undefined) throw ConsoleError.NOT_FOUND({ what: 'such turn in the log' });
    const { row, view } = found;
    const records = await Promise.all(placesOf(row).map((place) => showRecord(log, place)));
    const { kind } = view.stage;
    return {
      turn: await item(found),
      rule: view.rule,
      records,
      mayWithdraw: !['trained', 'not-trained', 'in-batch'].includes(kind),
    };
  });

  server.get('/api/records/:topic/:partition/:offset', async ({ params }): Promise<RecordPage> => {
    const parsed = placeParams.safeParse(params);
    if (!parsed.success) throw ConsoleError.NOT_FOUND({ what: 'such place in the log' });
    const place = parsed.data;
    const [ends, starts] = await Promise.all([log.ends(place.topic), log.starts(place.topic)]);
    if (place.offset >= (ends[place.partition] ?? 0))
      throw ConsoleError.NOT_FOUND({ what: 'such record yet' });
    return { ...(await showRecord(log, place)), ends, starts };
  });

  /** Its own records, the request that followed, and those of its batches. */
  function placesOf(row: TurnRow): readonly Place[] {
    const next = row.next === undefined || row.next === row.id ? undefined : table.turn(row.next)?.row.at;
    const batches = row.batches.flatMap((id) => table.batch(id)?.places ?? []);
    const all = [...new Set([...row.places, ...(next === undefined ? [] : [next]), ...batches])];
    // packed places sort by topic, in the order of the loop
    return all
      .sort((a, b) => a - b)
      .slice(0, MOST_RECORDS)
      .map(unpackPlace);
  }
}

function turnItem({ row, view: known }: FoundTurn, texts: TurnTexts): TurnItem {
  const view = withTexts(known, texts);
  return {
    id: row.id,
    time: row.ms,
    session: view.session,
    person: row.key,
    user: row.user ?? null,
    adapter: view.adapter,
    version: view.version,
    live: view.live,
    asked: view.asked,
    answered: view.answered,
    reaction: view.reaction,
    score: view.score ?? null,
    verdict: verdictOf(view) ?? null,
    verdictText: view.score === undefined && view.votes.length === 0 ? '' : describeVerdict(view),
    hints: texts.hints,
    outcome: outcomeOf(view),
    stage: describeStage(view.stage),
    reason: reasonOf(view) ?? null,
    explanation: explain(view) ?? null,
    trainedIn: view.stage.kind === 'trained' ? view.stage.version : null,
    isDeleted: row.isDeleted,
  };
}
