import type { SeedReport } from './run-seed.ts';
export async function writeRoutingReport(_path: string, _reports: readonly SeedReport[]): Promise<void> {}
