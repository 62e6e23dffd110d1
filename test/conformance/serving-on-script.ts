import { afterAll, beforeAll } from 'vitest';
import { type ServingFolder, type ServingProcess, servingFolder } from '../e2e/serving-process.ts';
import { type UpstreamDouble, upstreamDouble } from '../e2e/serving-upstream-double.ts';
import { scriptedEngine } from './scripted-model.ts';

export type ServingOnScript = {
  readonly folder: ServingFolder;
  readonly upstream: UpstreamDouble;
  readonly serving: ServingProcess;
};

/** A serving before a scripted model, for the tests of one file: there from before the first to after the last. */
export function servingOnScript(): ServingOnScript {
  const parts = {} as { -readonly [Name in keyof ServingOnScript]: ServingOnScript[Name] };
  beforeAll(async () => {
    parts.folder = await servingFolder();
    parts.upstream = await upstreamDouble();
    parts.serving = await parts.folder.start(scriptedEngine(parts.upstream));
  });
  afterAll(async () => {
    await parts.folder?.dispose();
    await parts.upstream?.close();
  });
  return parts;
}
