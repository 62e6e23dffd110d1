import { until } from '../e2e/harness/clawloop.ts';
import { type Child, PATIENCE_MS, type Spawned, startChild } from './child.ts';

type Line = Readonly<Record<string, unknown>>;

/** A program with a protocol of JSON lines. */
export type JsonLines = {
  readonly child: Child;
  readonly send: (line: Line) => void;
  /** Number of lines received so far. */
  readonly count: () => number;
  /** The first line that fits, after the first `from` lines. @throws if none arrives */
  readonly line: (what: string, holds: (line: Line) => boolean, from?: number) => Promise<Line>;
  readonly linesFrom: (from: number) => readonly Line[];
};

export function startJsonLines(spawned: Spawned, argv: readonly string[]): JsonLines {
  const child = startChild(spawned, argv);
  const lines = (): readonly Line[] => child.printed().split('\n').flatMap(parsed);
  return {
    child,
    send: (line) => child.write(JSON.stringify(line)),
    count: () => lines().length,
    linesFrom: (from) => lines().slice(from),
    line: async (what, holds, from = 0) => {
      const found = () => lines().slice(from).find(holds);
      return until(
        what,
        () => {
          const line = found();
          if (line === undefined && child.hasEnded()) throw new Error(`it ended: ${tail(child)}`);
          return line;
        },
        PATIENCE_MS,
      ).catch((error: Error) => {
        throw new Error(`${error.message}: ${tail(child)}`);
      });
    },
  };
}

const tail = (child: Child): string => child.output().slice(-1_500);

/** A line that is not an object is a message to the person. */
function parsed(text: string): readonly Line[] {
  if (!text.startsWith('{')) return [];
  try {
    return [JSON.parse(text) as Line];
  } catch {
    return [];
  }
}

/** JSON-RPC over such lines. */
export type JsonRpc = JsonLines & {
  /** @throws if the program answers with an error */
  readonly call: (method: string, params: object) => Promise<Line>;
};

export function startJsonRpc(spawned: Spawned, argv: readonly string[]): JsonRpc {
  const lines = startJsonLines(spawned, argv);
  let calls = 0;
  return {
    ...lines,
    call: async (method, params) => {
      const id = ++calls;
      lines.send({ jsonrpc: '2.0', id, method, params });
      const answer = await lines.line(method, (line) => line.id === id && line.method === undefined);
      if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
      return answer.result as Line;
    },
  };
}
