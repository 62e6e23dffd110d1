import { z } from 'zod';
import { isObject } from '../../../shared/lang/json.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type {
  Action,
  EnvironmentDriver,
  EpisodeOptions,
  Observation,
  OpenEnvironment,
} from '../environment.ts';
import { environmentFailure, environmentFull } from '../environment-failure.ts';
import { type Connection, connect } from './connection.ts';
import {
  type ActionForm,
  actionFormOf,
  namedTools,
  textOfObservation,
  textOfToolResult,
} from './observation.ts';
import { checkServer, listTasks } from './tasks.ts';
import { type ListedTool, type Reply, Schemas, Tools } from './wire.ts';

type Settings = {
  /** http address of the server */
  readonly url: string;
  /** ms for the reply to one message */
  readonly actLimitMs: number;
};

/** Environments of an OpenEnv server: one WebSocket session per attempt. A dropped session cannot be resumed. */
export function openEnvDriver(settings: Settings): EnvironmentDriver {
  return {
    tasks: (selection) => listTasks(settings.url, selection),
    prepare: async (tasks) => {
      const wrong = tasks.find(({ data }) => !isObject(data));
      if (wrong !== undefined)
        throw new UsageError(`${wrong.name} is not a JSON object, which \`reset\` could take`);
      await checkServer(settings.url);
      return tasks;
    },
    open: (task, options) => openEpisode(settings, task, options),
  };
}

async function openEpisode(
  { url, actLimitMs }: Settings,
  task: unknown,
  { id, seed, signal }: EpisodeOptions,
): Promise<OpenEnvironment> {
  const limit = AbortSignal.timeout(actLimitMs); // a server that hangs must not hold the attempt's session
  const form = actionFormOf(await actionSchemaOf(url, AbortSignal.any([signal, limit])));
  const socketUrl = `${url.replace(/^http/, 'ws')}/ws`;
  const connection = await connect(socketUrl, actLimitMs, signal);
  try {
    const data = { seed, episode_id: id, ...(task as object) };
    const first = await beginning(connection.ask({ type: 'reset', data }, signal));
    const listed =
      form.kind === 'tools'
        ? await beginning(connection.ask({ type: 'step', data: { type: 'list_tools' } }, signal))
        : undefined;
    return episode({ connection, form, task, first, listed });
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function actionSchemaOf(url: string, signal: AbortSignal) {
  const unavailable = (reason: string) =>
    environmentFailure('environment-unavailable', `GET ${url}/schema: ${reason}`);
  const response = await fetch(`${url}/schema`, { signal }).catch((error: Error) => {
    throw unavailable((error.cause as Error | undefined)?.message ?? error.message);
  });
  const schemas = Schemas.safeParse(await response.json().catch(() => undefined));
  if (!schemas.success) throw unavailable(`status ${response.status}, not the schema of an OpenEnv server`);
  return schemas.data.action;
}

type Shown = Extract<Reply, { readonly type: 'observation' }>['data'];

/** A reply at the beginning of an episode, where every error means that the environment is not ready. */
async function beginning(reply: Promise<Reply>): Promise<Shown> {
  const { type, data } = await reply.catch((error: Error) => {
    throw environmentFailure('environment-unavailable', error.message);
  });
  if (type === 'error') {
    const reason = `${data.code}: ${data.message}`;
    throw data.code === 'CAPACITY_REACHED'
      ? environmentFull(reason)
      : environmentFailure('environment-unavailable', reason);
  }
  return data;
}

type Episode = {
  readonly connection: Connection;
  readonly form: ActionForm;
  readonly task: unknown;
  readonly first: Shown;
  /** undefined: the environment has no tools of its own */
  readonly listed: Shown | undefined;
};

function episode({ connection, form, task, first, listed }: Episode): OpenEnvironment {
  const { tools, serverNameOf } = namedTools(toolsOf(listed));
  const rewards: number[] = [];
  let isDone = first.done ?? false;
  const actionOf = ({ name, arguments: given }: Action): object => {
    if (form.kind === 'tools')
      return { type: 'call_tool', tool_name: serverNameOf(name) ?? name, arguments: given };
    return form.kind === 'text' ? { [form.member]: given.text } : given;
  };
  const observe = ({ type, data }: Reply): Observation => {
    if (type === 'error') {
      if (data.code === 'VALIDATION_ERROR') return { content: data.message, isError: true, isDone };
      throw environmentFailure('environment-broken', `${data.code}: ${data.message}`);
    }
    if (data.reward !== undefined && data.reward !== null) rewards.push(Number(data.reward));
    isDone = data.done ?? false;
    if (form.kind !== 'tools')
      return { content: textOfObservation(data.observation), isError: false, isDone };
    const { text, isError } = textOfToolResult(data.observation);
    return { content: text, isError, isDone };
  };
  return {
    messages: [{ role: 'user', content: textOfObservation(first.observation) || promptOf(task) }],
    tools:
      form.kind === 'structured'
        ? [{ type: 'function', function: { name: 'act', parameters: form.parameters } }]
        : tools,
    takesText: form.kind === 'text',
    act: async (action, signal) =>
      observe(await connection.ask({ type: 'step', data: actionOf(action) }, signal)),
    evaluate: async () => {
      if (isDone && rewards.length === 0)
        throw environmentFailure('evaluation-failed', 'the environment ended the episode without a reward');
      const reward = rewards.reduce((sum, value) => sum + value, 0);
      return { reward, detail: { rewards, done: isDone } };
    },
    close: async () => connection.close(),
  };
}

/** @throws EnvironmentFailure when the server's list is not of OpenEnv's form */
function toolsOf(listed: Shown | undefined): readonly ListedTool[] {
  if (listed === undefined) return [];
  const parsed = Tools.safeParse(listed.observation);
  if (parsed.success) return parsed.data.tools;
  throw environmentFailure('environment-unavailable', `list_tools: ${z.prettifyError(parsed.error)}`);
}

const Prompted = z.looseObject({
  prompt: z.string().optional(),
  instruction: z.string().optional(),
  question: z.string().optional(),
});

/** The words of a task whose environment shows none at its reset. */
function promptOf(task: unknown): string {
  const { prompt, instruction, question } = Prompted.safeParse(task).data ?? {};
  return prompt ?? instruction ?? question ?? 'Begin.';
}
