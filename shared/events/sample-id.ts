/** The sample that a revision of a turn's judgment makes; the first judgment's has the id of the turn. */
export const revisedSampleId = (turnId: string, n: number): string => `${turnId}~${n}`;

/** The turn that a sample is of. */
export const turnOfSample = (sampleId: string): string => sampleId.replace(/~\d+$/, '');
