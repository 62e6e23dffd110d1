import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseJson } from '../../../shared/lang/json.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';

const texts = z.record(z.string(), z.string()).default({});

const ProcessServer = z.looseObject({
  type: z.literal('stdio').optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: texts,
  cwd: z.string().optional(),
});
const HttpServer = z.looseObject({
  type: z.enum(['http', 'streamable-http', 'sse']).default('http'),
  url: z.string(),
  headers: texts,
});
const ServerFile = z.looseObject({
  mcpServers: z.record(z.string(), z.union([ProcessServer, HttpServer])),
});

/** A server that each attempt starts for itself. */
export type ProcessServer = z.output<typeof ProcessServer>;
/** A server at an address, which all attempts share. */
export type HttpServer = z.output<typeof HttpServer>;
export type Server = ProcessServer | HttpServer;

export const isProcess = (server: Server): server is ProcessServer => 'command' in server;

/**
 * The servers of a file with `mcpServers`, as agent programs have it, by their names.
 *
 * @throws UsageError when the file cannot be read, has another form, or names no server
 */
export function readServers(path: string): Readonly<Record<string, Server>> {
  const parsed = ServerFile.safeParse(parseJson(textOf(path)));
  if (!parsed.success)
    throw new UsageError(
      `${path} must be JSON such as {"mcpServers": {"files": {"command": "npx", "args": ["..."]}}}: ${z.prettifyError(parsed.error)}`,
    );
  const servers = parsed.data.mcpServers;
  if (Object.keys(servers).length === 0) throw new UsageError(`${path} names no server`);
  for (const [name, server] of Object.entries(servers))
    if (!isProcess(server) && !/^https?:$/.test(URL.parse(server.url)?.protocol ?? ''))
      throw new UsageError(`${path}: the url of '${name}' must be an http address, not '${server.url}'`);
  return servers;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`);
  }
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * A server with `${NAME}` and `${NAME:-default}` replaced in all its texts but its type.
 *
 * @throws UsageError for a variable that is not set and has no default
 */
export function expandServer<Given extends Server>(server: Given, variables: Variables): Given {
  const expand = (value: unknown): unknown => {
    if (typeof value === 'string') return expandText(value, variables);
    if (Array.isArray(value)) return value.map(expand);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, expand(inner)]));
  };
  return expand(server) as Given;
}

const expandText = (text: string, variables: Variables): string =>
  text.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, fallback: string | undefined) => {
    const value = variables[name] ?? fallback;
    if (value === undefined) throw new UsageError(`the variable ${name} of the servers' file is not set`);
    return value;
  });
