import { isDeepStrictEqual } from 'node:util';
import type { ClawLoopEvent } from '../../../../shared/events/catalogue.ts';
import { parseEvent } from '../../../../shared/events/parse-event.ts';
import { hasCarriedId, revisedSampleId, turnOfSample } from '../../../../shared/events/sample-id.ts';
import { tokensOf } from '../facts.ts';
import type { Law } from './history.ts';

const emittedTypes: ReadonlySet<string> = new Set([
  'turn.completed',
  'turn.skipped',
  'turn.feedback',
  'session.opened',
  'session.closed',
  'turn.continued',
  'judgment.reached',
  'judgment.revised',
  'sample.ready',
  'sample.dropped',
  'batch.submitted',
]);

const isTooLate = (event: ClawLoopEvent) => event.type === 'turn.skipped' && event.data.reason === 'too-late';

/** What was told to a client as durable stands in the log. */
export const nothingIsLost: Law = ({ world, interactions }) =>
  world.durable.filter((id) => !interactions.has(id)).map((id) => `lost: ${id}`);

/** What the folds emitted stands in the log once, and is what its schema says. */
export const emittedOnce: Law = ({ all }) => {
  const emitted = all.filter((event) => emittedTypes.has(event.type) && !isTooLate(event));
  const twice = [...Map.groupBy(emitted, ({ type, id }) => `${type} ${id}`)].filter(
    ([, copies]) => copies.length > 1,
  );
  const broken = emitted.filter((event) => parseEvent(JSON.stringify(event)).kind !== 'event');
  return [
    ...twice.map(([name]) => `emitted twice: ${name}`),
    ...broken.map(({ type, id }) => `not what its schema says: ${type} ${id}`),
  ];
};

/** Every interaction with the live policy has one outcome; every ready sample one batch or one reason. */
export const everyTurnEndsOnce: Law = ({ of, interactions }) => {
  const wrong: string[] = [];
  const count = (items: readonly unknown[] | undefined) => items?.length ?? 0;
  const skipped = Map.groupBy(of('turn.skipped'), ({ data }) => data.turnId);
  const completed = Map.groupBy(of('turn.completed'), ({ data }) => data.turnId);
  const judged = Map.groupBy(of('judgment.reached'), ({ data }) => data.turnId);
  const ready = Map.groupBy(of('sample.ready'), ({ data }) => data.sampleId);
  const dropped = Map.groupBy(of('sample.dropped'), ({ data }) => data.sampleId);
  const trained = Map.groupBy(
    of('batch.submitted').flatMap(({ data }) => data.samples),
    ({ sampleId }) => sampleId,
  );
  const commands = new Map(of('batch.returned').map(({ id, data }) => [id, data]));
  const returned = Map.groupBy(
    [...commands.values()].flatMap(({ samples }) => samples),
    ({ sampleId }) => sampleId,
  );
  /** A sample ends once, and once more each time that it is to train again. */
  const checkEnds = (id: string) => {
    const [inBatches, gone] = [count(trained.get(id)), count(dropped.get(id))];
    const wanted = 1 + count(returned.get(id));
    if (inBatches + gone !== wanted)
      wrong.push(`ends of ${id}: in batches ${inBatches}, dropped ${gone}, wanted ${wanted}`);
  };
  for (const [id, { data }] of interactions) {
    const late = count(skipped.get(id)?.filter(isTooLate));
    const named = count(skipped.get(id)) - late;
    const whole = count(completed.get(id));
    const told = `${id}: skipped ${named}, completed ${whole}, too late ${late}`;
    if (!data.live) {
      if (named + late + whole > 0) wrong.push(`a pinned version made a turn: ${told}`);
      continue;
    }
    if (named + whole !== 1 && !(named + whole === 0 && late > 0)) wrong.push(`outcomes of ${told}`);
    if (whole === 0) {
      if (count(judged.get(id)) + count(ready.get(id)) > 0) wrong.push(`skipped, yet judged: ${id}`);
      continue;
    }
    if (count(judged.get(id)) !== 1) wrong.push(`judgments of ${id}: ${count(judged.get(id))}`);
    checkEnds(id);
    if (count(trained.get(id)) > 0 && count(ready.get(id)) === 0)
      wrong.push(`trained without being ready: ${id}`);
  }
  const revised = Map.groupBy(of('judgment.revised'), ({ data }) => revisedSampleId(data.turnId, data.n));
  for (const id of revised.keys()) {
    checkEnds(id);
    if (count(judged.get(turnOfSample(id))) === 0) wrong.push(`revised without a judgment: ${id}`);
  }
  for (const id of ready.keys()) {
    if (!interactions.has(turnOfSample(id))) wrong.push(`a sample from nowhere: ${id}`);
    if (hasCarriedId(id)) checkEnds(id);
    else if (turnOfSample(id) !== id && !revised.has(id)) wrong.push(`a sample without a judgment: ${id}`);
  }
  return wrong;
};

/** What trains is what was sampled, and what completes a turn was said after its answer. */
export const bodiesAreTheirOwn: Law = ({ of, interactions }) => {
  const wrong: string[] = [];
  for (const { data } of [...of('turn.completed'), ...of('turn.continued')]) {
    const own = interactions.get(data.turnId)!.data;
    const { messages, answer, tokens, version, adapter, key } = own;
    const copied = { messages, answer, tokens, version, adapter, key };
    const said = {
      ...copied,
      ...Object.fromEntries(Object.keys(copied).map((name) => [name, data[name as 'key']])),
    };
    if (!isDeepStrictEqual(said, copied)) wrong.push(`another body: ${data.turnId}`);
    if (data.from === null) continue;
    const shown = interactions.get(data.from)!.data.messages;
    // a client may have cut the history before the answer, so it need not stand where it stood
    const places = shown.flatMap((one, at) => (isDeepStrictEqual(one, answer) ? [at] : []));
    if (places.length === 0) wrong.push(`completed by another answer: ${data.turnId} by ${data.from}`);
    const isSaid = places.some((at) => {
      const end = shown.findIndex(({ role }, index) => index > at && role === 'assistant');
      const after = shown.slice(at + 1, end === -1 ? undefined : end);
      return data.next.every((one) => after.some((other) => isDeepStrictEqual(one, other)));
    });
    if (data.next.length === 0 || !isSaid)
      wrong.push(`a next state that was not said: ${data.turnId} by ${data.from}`);
  }
  for (const { data } of of('sample.ready'))
    if (!isDeepStrictEqual(data.tokens, tokensOf(turnOfSample(data.sampleId))))
      wrong.push(`other tokens: ${data.sampleId}`);
  return wrong;
};
