import { afterEach, beforeEach } from 'vitest';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { referencePath } from '../../shared/policy/testing/reference-fixtures.ts';
import { openServerProcess, type ServerProcess } from './server-process.ts';
import { openTrainerFolder, type TrainerFolder } from './trainer-process.ts';

export type TrainerWithServer = { readonly folder: TrainerFolder; readonly server: ServerProcess };

/** A training server and a trainer's folder for each test of the file; both are gone after it. */
export function trainerWithServer(serverFlags: readonly string[] = []): TrainerWithServer {
  const place = {} as { -readonly [Name in keyof TrainerWithServer]: TrainerWithServer[Name] };
  beforeEach(async () => {
    place.server = await openServerProcess(serverFlags);
    place.folder = await openTrainerFolder(referencePath('models/qwen3-tiny'));
  });
  afterEach(async () => {
    await place.folder.dispose();
    await place.server.dispose();
  });
  return place;
}

export const onServer = (server: ServerProcess): readonly string[] => [
  ...['--training-engine', 'tinker'],
  ...['--training-url', server.url()],
  ...['--training-model', 'tiny'],
];

/** Settings that every server can follow. */
export const serverSettings: Partial<TrainingSettings> = {
  method: 'binary',
  distillation: 'sampled',
  alpha: 32,
  rank: 4,
  rehearsal: 0,
  learningRate: 1e-4,
  epsilon: 1e-8,
  beta1: 0.9,
  epochs: 1,
  gateMeanKl: 100,
  gateBaseKl: 100,
};
