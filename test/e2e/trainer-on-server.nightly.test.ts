import { afterEach, beforeEach, test } from 'vitest';
import { referencePath } from '../../shared/policy/testing/reference-fixtures.ts';
import { openServerProcess, type ServerProcess } from './server-process.ts';
import { openTrainerFolder, type TrainerFolder } from './trainer-process.ts';
import { killsOnServer } from './trainer-server-kills.ts';

let server: ServerProcess;
let folder: TrainerFolder;
beforeEach(async () => {
  server = await openServerProcess();
  folder = await openTrainerFolder(referencePath('models/qwen3-tiny'));
});
afterEach(async () => {
  await folder.dispose();
  await server.dispose();
});

test('trainer and server are killed at random points of a step, a hundred times', async () => {
  await killsOnServer({ folder, server }, { batches: 10, kills: 100, seed: 'a hundred' });
});
