/** Id of the sample of a revised judgment; the sample of the first judgment has the turn's id. */
export const revisedSampleId = (turnId: string, n: number): string => `${turnId}~${n}`;

/** The turn of a sample. */
export const turnOfSample = (sampleId: string): string => sampleId.replace(/~\d+$/, '');
