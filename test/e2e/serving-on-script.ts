import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';
import {
  deltaFrame,
  finishFrame,
  sendFrames,
  type UpstreamDouble,
  upstreamDouble,
  usageFrame,
} from './serving-upstream-double.ts';

/** What the engine does with each request; a test changes it by `upstream.script`. */
type Script = Parameters<UpstreamDouble['script']>[0];

export type OnScript = {
  readonly folder: ServingFolder;
  readonly upstream: UpstreamDouble;
  /** Settings that put a serving before the engine. */
  readonly engine: readonly string[];
  /** The one that was started last. */
  readonly serving: ServingProcess;
  /** Starts one more on the same folder, before the same engine. */
  readonly start: (...flags: readonly string[]) => Promise<ServingProcess>;
};

/** Says "hi", of 40 tokens asked and 10 answered. */
export const saysHi: Script = (_, response) =>
  sendFrames(response, [deltaFrame({ content: 'hi' }), finishFrame('stop'), usageFrame(40, 10)]);

/** Settings under which the answers of the engine can train: it gives token ids, and raw log-probs. */
export const givesTokens = ['--upstream-logprobs', 'raw', '--upstream-token-ids', 'true'] as const;

/**
 * A serving before an engine that does as it is told: there from before the first test to after the last. Each
 * test finds the engine with `script`.
 */
export function servingOnScript(flags: readonly string[] = [], script = saysHi): OnScript {
  const { on, open, close } = scripted(script);
  beforeAll(async () => {
    await open();
    await on.start(...flags);
  });
  beforeEach(() => on.upstream.script(script));
  afterAll(close);
  return on;
}

/** Each test starts what it needs, on a folder of its own before an engine of its own. */
export function scriptForEach(script = saysHi): OnScript {
  const { on, open, close } = scripted(script);
  beforeEach(open);
  afterEach(close);
  return on;
}

/** `on` is filled by `open`: suites are described before anything runs. */
function scripted(script: Script) {
  const on = {} as { -readonly [Name in keyof OnScript]: OnScript[Name] };
  on.start = async (...flags) => {
    on.serving = await on.folder.start([...on.engine, ...flags]);
    return on.serving;
  };
  return {
    on: on as OnScript,
    open: async () => {
      on.folder = await servingFolder();
      on.upstream = await upstreamDouble();
      on.upstream.script(script);
      on.engine = ['--engine', 'upstream', '--upstream-url', on.upstream.url];
    },
    close: async () => {
      await on.folder?.dispose();
      await on.upstream?.close();
    },
  };
}
