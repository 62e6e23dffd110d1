/** Revisions of a turn's judgment. A person who alternates thumbs must not train the same turn forever. */
export const MOST_REVISIONS = 4;

/** Id of the sample of a revised judgment; the sample of the first judgment has the turn's id. */
export const revisedSampleId = (turnId: string, n: number): string => `${turnId}~${n}`;

/** Id of the sample of a tool call that gets the revised verdict of a later answer. The numbers of both kinds differ. */
export const carriedSampleId = (turnId: string, n: number): string =>
  revisedSampleId(turnId, MOST_REVISIONS + n);

/** Whether the sample has the revised verdict of a later answer. */
export const hasCarriedId = (sampleId: string): boolean =>
  Number(/~(\d+)$/.exec(sampleId)?.[1] ?? 0) > MOST_REVISIONS;

/** The turn of a sample. */
export const turnOfSample = (sampleId: string): string => sampleId.replace(/~\d+$/, '');
