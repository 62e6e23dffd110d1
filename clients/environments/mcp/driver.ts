import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type {
  Action,
  EnvironmentDriver,
  EpisodeOptions,
  Observation,
  OpenEnvironment,
} from '../environment.ts';
import { functionTools } from '../function-tools.ts';
import { type Connection, connect, type McpTool } from './connection.ts';
import { openingOf } from './opening.ts';
import { expandServer, readServers, type Server } from './server-list.ts';

type Settings = {
  /** path of a file with `mcpServers` */
  readonly path: string;
  /** ms for one answer of a server; its start may take longer */
  readonly actLimitMs: number;
};

/**
 * What the agent did: one entry per call, in `Evaluation.detail.actions`.
 * @public
 */
export type McpAction = {
  /** name in the chat API */
  readonly name: string;
  readonly server: string;
  /** name at the server */
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly content: string;
  readonly isError: boolean;
};

/**
 * Tools of MCP servers. Each attempt starts the servers that are commands, and ends them with all processes that they
 * started. MCP knows neither tasks nor ratings: they come from --data and --reward.
 *
 * @throws UsageError for an invalid file
 */
export function mcpDriver({ path, actLimitMs }: Settings): EnvironmentDriver {
  const servers = readServers(path);
  const open = (task: unknown, options: EpisodeOptions) =>
    openEpisode({ servers, actLimitMs }, task, options);
  return {
    hasRating: false,
    tasks: async () => {
      throw new UsageError('MCP servers have no tasks: give --data');
    },
    prepare: async (tasks) => {
      for (const { name, data } of tasks) openingOf(data, `task ${name}`);
      const never = new AbortController().signal;
      const first = await open(tasks[0]!.data, { id: 'check', seed: 0, signal: never }).catch(
        (error: Error) => {
          throw new UsageError(error.message);
        },
      );
      await first.close();
      if (first.tools.length === 0) throw new UsageError(`the servers of ${path} have no tools`);
      return tasks;
    },
    open,
  };
}

type Servers = { readonly servers: Readonly<Record<string, Server>>; readonly actLimitMs: number };

async function openEpisode(
  { servers, actLimitMs }: Servers,
  task: unknown,
  { seed, signal }: EpisodeOptions,
): Promise<OpenEnvironment> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-mcp-'));
  const ofAttempt = {
    CLAWLOOP_FOLDER: folder,
    CLAWLOOP_SEED: String(seed),
    CLAWLOOP_TASK: JSON.stringify(task),
  };
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  const opening = await Promise.allSettled(
    Object.entries(servers).map(async ([name, server]) => {
      const expanded = expandServer(server, { ...process.env, ...ofAttempt });
      return { server: name, connection: await connect(expanded, { name, limitMs: actLimitMs, signal }) };
    }),
  );
  const opened = opening.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const close = async () => {
    await Promise.all(opened.map(({ connection }) => connection.close()));
    await removeFolder();
  };
  const failed = opening.find((one) => one.status === 'rejected');
  if (failed === undefined) return episode(opened, { task, folder, close });
  await close();
  throw failed.reason;
}

type Opened = { readonly server: string; readonly connection: Connection };
type Place = { readonly task: unknown; readonly folder: string; readonly close: () => Promise<void> };

function episode(opened: readonly Opened[], { task, folder, close }: Place): OpenEnvironment {
  const { tools, toolOf } = functionTools(opened.flatMap((one) => listedOf(one, opened.length > 1)));
  const actions: McpAction[] = [];
  const act = async ({ name, arguments: given }: Action, signal: AbortSignal): Promise<Observation> => {
    const tool = toolOf(name);
    if (tool === undefined) return { content: `There is no tool '${name}'.`, isError: true, isDone: false };
    const shown = await tool.connection.call(tool.own, given, signal);
    actions.push({ name, server: tool.server, tool: tool.own, arguments: given, ...shown });
    return { ...shown, isDone: false };
  };
  return {
    messages: openingOf(task),
    tools,
    takesText: false,
    act,
    evaluate: async () => ({ reward: undefined, detail: { actions, folder } }),
    close,
  };
}

/** Several servers may have tools of the same name, so theirs begin with the server's. */
const listedOf = ({ server, connection }: Opened, isOneOfSeveral: boolean) =>
  connection.tools.map(({ name, description, inputSchema }: McpTool) => ({
    name: isOneOfSeveral ? `${server}__${name}` : name,
    description,
    schema: inputSchema,
    own: name,
    server,
    connection,
  }));
