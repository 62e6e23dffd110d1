import type { Spawned } from '../child.ts';
import { type JsonLines, startJsonLines } from '../json-lines.ts';

/** The protocol of Claude Code's `--input-format stream-json`, which Qwen Code speaks too. */
export type StreamJson = {
  /** @returns the answer as the program shows it @throws if it shows an error */
  readonly say: (words: string) => Promise<string>;
  /** Says something without waiting for the answer. */
  readonly begin: (words: string) => void;
  readonly lines: JsonLines;
};

type Result = { readonly is_error?: boolean; readonly result?: string };

export function startStreamJson(spawned: Spawned, argv: readonly string[]): StreamJson {
  const format = ['--input-format', 'stream-json', '--output-format', 'stream-json'];
  const lines = startJsonLines(spawned, [...format, ...argv]);
  const begin = (words: string) => lines.send({ type: 'user', message: { role: 'user', content: words } });
  return {
    lines,
    begin,
    say: async (words) => {
      const from = lines.count();
      begin(words);
      const result = (await lines.line('a result', ({ type }) => type === 'result', from)) as Result;
      if (result.is_error) throw new Error(JSON.stringify(result));
      return result.result ?? '';
    },
  };
}
