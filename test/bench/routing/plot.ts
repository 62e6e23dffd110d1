import type { SeedReport } from './run-seed.ts';
export const drawRouting = (_: readonly SeedReport[]): string => '';
