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

/** The engine's response to each request; a test changes it by `upstream.script`. */
type Script = Parameters<UpstreamDouble['script']>[0];

export type OnScript = {
  readonly folder: ServingFolder;
  readonly upstream: UpstreamDouble;
  /** Settings that connect a serving to the engine. */
  readonly engine: readonly string[];
  /** The latest started serving. */
  readonly serving: ServingProcess;
  /** Starts one more serving on the same folder, with the same engine. */
  readonly start: (...flags: readonly string[]) => Promise<ServingProcess>;
};

/** Answers "hi", with a usage of 40 prompt tokens and 10 completion tokens. */
export const saysHi: Script = (_, response) =>
  sendFrames(response, [deltaFrame({ content: 'hi' }), finishFrame('stop'), usageFrame(40, 10)]);

/** Settings under which the engine's answers can train: it returns token ids and raw log-probs. */
export const givesTokens = ['--upstream-logprobs', 'raw', '--upstream-token-ids', 'true'] as const;

/**
 * A serving with a scripted engine for all tests of a suite. Before each test, the engine's script is reset to
 * `script`.
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

/** A new folder and a new engine for each test, which starts its own servings. */
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
