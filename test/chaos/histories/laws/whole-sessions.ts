import type { Law } from './history.ts';

/** All that a session was rewarded for is in one batch, but what never came into any. It may train again in part. */
export const rewardedSessionsStayWhole: Law = ({ of }) => {
  const batchOf = new Map(
    of('batch.submitted')
      .filter(({ data }) => data.again === undefined)
      .flatMap(({ data }) => data.samples.map(({ sampleId }) => [sampleId, data.batchId])),
  );
  const batches = new Map<string, Set<string>>();
  for (const { data } of of('sample.ready')) {
    const batch = batchOf.get(data.sampleId);
    if (data.following === undefined || batch === undefined) continue;
    const session = `${data.session}@${data.epoch} of ${data.adapter}`;
    batches.set(session, (batches.get(session) ?? new Set()).add(batch));
  }
  return [...batches]
    .filter(([, taken]) => taken.size > 1)
    .map(([session, taken]) => `${session} is in ${[...taken].join(' and ')}`);
};
