import { randomBytes } from 'node:crypto';
import { type Body, refusal, type StandIn, serve } from './serve.ts';

type Run = {
  readonly taskKey: string;
  readonly files: Map<string, string>;
  isReset: boolean;
  usedAt: number;
};

export type TerminalPool = StandIn & {
  /** Leases that were given and neither closed nor taken back. */
  readonly open: () => number;
  /** Advances the clock of the pool, which takes back leases that were silent for their TTL. ms */
  readonly advance: (ms: number) => void;
  /** How often each command was carried out. */
  readonly carriedOut: ReadonlyMap<string, number>;
};

/** ms */
export const TTL = 600_000;

const keyError = (text: string) => refusal(500, { ok: false, error: `'${text}'` });

const tool = (name: string, properties: object) => ({
  type: 'function',
  function: {
    name,
    description: `${name} of a terminal`,
    strict: true,
    parameters: {
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    },
  },
});
const text = { type: 'string' };
const toolSchemas = [
  tool('shell_exec', { id: text, command: text, block: { type: 'boolean' } }),
  tool('shell_view', { id: text }),
  tool('shell_write_to_process', { id: text, command: text }),
  tool('shell_write_content_to_file', { content: text, file_path: text }),
];

/**
 * Speaks the wire of terminal-rl's pool server. Its terminal knows `echo WORD > FILE` and `cat FILE`; a run scores
 * the share of `a.txt` and `b.txt` that say `hello`.
 */
export async function terminalPool({ room = 16, port = 0 } = {}): Promise<TerminalPool> {
  const runs = new Map<string, Run>();
  const requests = new Map<string, string>();
  const carriedOut = new Map<string, number>();
  let now = 0;
  const runOf = ({ lease_id: id }: Body): Run => {
    const run = runs.get(String(id));
    if (run === undefined) throw keyError(`Unknown run_lease_id: ${id}`);
    run.usedAt = now;
    return run;
  };
  const readyRun = (body: Body): Run => {
    const run = runOf(body);
    if (!run.isReset) throw keyError('env is not initialized; call reset first');
    return run;
  };
  const standIn = await serve(
    {
      '/allocate': ({ task_key: taskKey, request_id: request }) => {
        const known = requests.get(`${taskKey} ${request}`);
        if (known !== undefined && runs.has(known)) return { lease_id: known, reused: true };
        if (runs.size >= room)
          throw refusal(429, { ok: false, error: 'Worker at capacity', code: 'TASK_SLOTS_EXHAUSTED' });
        const id = `run-${randomBytes(8).toString('hex')}`;
        runs.set(id, { taskKey: String(taskKey), files: new Map(), isReset: false, usedAt: now });
        requests.set(`${taskKey} ${request}`, id);
        return { lease_id: id, reused: false };
      },
      '/heartbeat': (body) => {
        runOf(body);
        return {};
      },
      '/reset': (body) => {
        const run = runOf(body);
        const meta = body.task_meta as { readonly task_name: string; readonly instruction: string };
        run.isReset = true;
        run.files.clear();
        return {
          user_msg: `Task name:${meta.task_name}\nTask instruction: ${meta.instruction}`,
          tool_schemas: toolSchemas,
        };
      },
      '/exec_tool': (body) => {
        const run = readyRun(body);
        const call = body.tool_call as { readonly name: string; readonly arguments: Body };
        if (call.name !== 'shell_exec') return { observation: `[TOOL_ERROR] unknown tool: ${call.name}` };
        const command = String(call.arguments.command);
        carriedOut.set(command, (carriedOut.get(command) ?? 0) + 1);
        const [, word, written] = /^echo (\S+) > (\S+)$/.exec(command) ?? [];
        if (written !== undefined) run.files.set(written, word!);
        const [, read] = /^cat (\S+)$/.exec(command) ?? [];
        return {
          observation: read === undefined ? '' : (run.files.get(read) ?? `cat: ${read}: No such file`),
        };
      },
      '/evaluate': (body) => {
        const { files } = readyRun(body);
        return { score: ['a.txt', 'b.txt'].filter((name) => files.get(name) === 'hello').length / 2 };
      },
      '/close': ({ lease_id: id }) => ({ found: runs.delete(String(id)) }),
    },
    port,
  );
  return {
    ...standIn,
    open: () => runs.size,
    advance: (ms) => {
      now += ms;
      for (const [id, { usedAt }] of runs) if (now - usedAt > TTL) runs.delete(id);
    },
    carriedOut,
  };
}
