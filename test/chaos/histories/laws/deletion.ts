import { firstPlaces, type Law } from './history.ts';

/** What its client deleted is completed by nothing that comes later, and no later verdict makes it a sample. */
export const deletedStaysOut: Law = ({ world, of, interactions }) => {
  const wrong: string[] = [];
  const said = firstPlaces(world.records.conversations);
  const told = firstPlaces(world.records.turns);
  const completed = new Map(of('turn.completed').map(({ data }) => [data.turnId, data]));
  const judged = new Set(of('judgment.reached').map(({ id }) => id));
  const dropped = new Map(of('sample.dropped').map(({ data }) => [data.sampleId, data.reason]));
  for (const { id, data } of of('response.deleted')) {
    const { interactionId: turnId, key } = data;
    if (interactions.get(turnId)?.data.key !== key) continue;
    const turn = completed.get(turnId);
    if (turn !== undefined && said.get(turn.by)! > said.get(id)!)
      wrong.push(`completed after it was deleted: ${turnId}`);
    const withdrawn = told.get(`${turnId}/withdrawn`) ?? Number.POSITIVE_INFINITY;
    const judgment = `${turnId}/judgment`;
    if (judged.has(judgment) && withdrawn < told.get(judgment)! && dropped.get(turnId) !== 'deleted')
      wrong.push(`judged after it was deleted: ${turnId}`);
  }
  return wrong;
};
