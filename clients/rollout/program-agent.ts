import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject } from '../../shared/lang/json.ts';
import type { OpenEnvironment } from '../environments/environment.ts';
import { quoted } from '../environments/harbor/quoted.ts';
import type { Agent, AgentInput } from './contract.ts';
import { runProgram } from './program-process.ts';

/** What the agent returns: the ends of what the program printed. */
type ProgramResult = { readonly stdout: string; readonly stderr: string };

export type ProgramAgentSettings = {
  /** a command of the shell */
  readonly command: string;
  /** name of the model in requests */
  readonly model: string;
};

/** characters of a failed program's output in its error */
const SHOWN = 2_000;

/**
 * An agent that is any program: it runs a shell command for each attempt, in an empty folder and with an empty home.
 * Variables point the program at the endpoint, with the key of the attempt's session.
 */
export const programAgent =
  ({ command, model }: ProgramAgentSettings): Agent<unknown, ProgramResult> =>
  async (input) => {
    const root = await mkdtemp(join(tmpdir(), 'clawloop-attempt-'));
    removeAtExit(root);
    try {
      const [folder, home, temporary] = [join(root, 'work'), join(root, 'home'), join(root, 'tmp')];
      for (const each of [folder, home, temporary]) await mkdir(each);
      const enter = await writeEnter(root, input.environment);
      const env = {
        ...inherited(process.env),
        ...programVariables(input, model),
        ...withoutProxy(process.env, input.baseUrl),
        HOME: home,
        TMPDIR: temporary,
        CLAWLOOP_STARTED_IN: process.cwd(),
        ...(enter === undefined ? {} : { CLAWLOOP_EXEC: enter }),
      };
      refuseTooLong(env);
      const { code, stdout, stderr } = await runProgram(command, { folder, root, env, signal: input.signal });
      if (code !== 0) throw new Error(failureText(code, stderr.trim() === '' ? stdout : stderr));
      return { stdout, stderr };
    } finally {
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
      roots.delete(root);
      if (roots.size === 0) process.off('exit', removeRoots);
    }
  };

/** Folders that are not removed yet. */
const roots = new Set<string>();

/** A rollout that is stopped twice, or leaves a late program behind, ends before it has removed everything. */
function removeAtExit(root: string): void {
  if (roots.size === 0) process.once('exit', removeRoots);
  roots.add(root);
}

const removeRoots = (): void => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
};

/** Variables by which a container tool finds its containers. */
const OF_CONTAINER_TOOLS = /^(HOME|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+)$/;

/**
 * Writes a script that runs its arguments in the environment. The program itself has another home, in which a
 * container tool does not find its containers.
 *
 * @returns the path of the script; undefined without an environment
 * @throws Error when a program cannot reach into the environment, so that an idle attempt is not scored
 */
async function writeEnter(
  root: string,
  environment: OpenEnvironment | undefined,
): Promise<string | undefined> {
  if (environment === undefined) return undefined;
  if (environment.enter === undefined)
    throw new Error('a program cannot act in this environment: use the agent `tools` or a module');
  const path = join(root, 'exec');
  const variables = Object.entries(process.env)
    .filter(([name, value]) => value !== undefined && OF_CONTAINER_TOOLS.test(name))
    .map(([name, value]) => `${name}=${quoted(value!)}`);
  const words = environment.enter.map(quoted).join(' ');
  const lines = ['#!/bin/sh', `export ${variables.join(' ')}`, `exec ${words} "$@"`];
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o700 });
  return path;
}

/** bytes of one variable, with its name; a limit of Linux */
const LONGEST_VARIABLE = 128 * 1024;

function refuseTooLong(env: Readonly<Record<string, string>>): void {
  const names = ['INSTRUCTION', 'TASK'].filter(
    (name) => Buffer.byteLength(env[name]!) + name.length + 2 > LONGEST_VARIABLE,
  );
  if (names.length > 0)
    throw new Error(`${names.join(', ')} would be longer than 128 KiB: use an agent module for such tasks`);
}

const failureText = (code: number | undefined, output: string): string => {
  const ended = code === undefined ? 'a signal ended the program' : `the program ended with ${code}`;
  const said = output.trim().slice(-SHOWN).toWellFormed();
  return said === '' ? ended : `${ended}: ${said}`;
};

/** Names by which programs know an endpoint, its key and the task. */
export function programVariables(
  { task, baseUrl, apiKey, session, attempt, seed, environment }: Omit<AgentInput, 'signal'>,
  model: string,
): Readonly<Record<string, string>> {
  const openAi = `${baseUrl}/v1`;
  return {
    OPENAI_BASE_URL: openAi,
    OPENAI_API_BASE: openAi,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_API_KEY: apiKey,
    MSWEA_API_KEY: apiKey,
    // mini-swe-agent knows no price of this model, and would otherwise stop
    MSWEA_COST_TRACKING: 'ignore_errors',
    CLAWLOOP_MODEL: model,
    CLAWLOOP_SESSION: session,
    CLAWLOOP_ATTEMPT: String(attempt),
    CLAWLOOP_SEED: String(seed),
    TASK: JSON.stringify(task),
    INSTRUCTION: instructionOf(task, environment),
  };
}

const INSTRUCTION_FIELDS = ['instruction', 'prompt', 'question', 'problem_statement'];

/** The environment's opening messages, or the task's own text. */
function instructionOf(task: unknown, environment: OpenEnvironment | undefined): string {
  if (environment !== undefined) return environment.messages.map(({ content }) => content).join('\n\n');
  if (typeof task === 'string') return task;
  const texts = isObject(task) ? INSTRUCTION_FIELDS.map((name) => task[name]) : [];
  return texts.find((text) => typeof text === 'string') ?? '';
}

/** Of this process's variables, a program gets only those without which programs do not run: no key of another service. */
const INHERITED =
  /^(PATH|LANG|LANGUAGE|LC_\w+|TZ|TERM|SHELL|USER|LOGNAME|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|https?_proxy)$/i;

export const inherited = (variables: NodeJS.ProcessEnv): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) =>
      value !== undefined && INHERITED.test(name) ? [[name, value]] : [],
    ),
  );

/** A proxy would take the endpoint's address for its own machine's. */
function withoutProxy(variables: NodeJS.ProcessEnv, baseUrl: string): Readonly<Record<string, string>> {
  const known = variables.NO_PROXY ?? variables.no_proxy;
  const hosts = [...(known ? [known] : []), new URL(baseUrl).hostname].join(',');
  return { NO_PROXY: hosts, no_proxy: hosts };
}
