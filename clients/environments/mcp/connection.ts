import {
  Client,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { withDeadline } from '../../../shared/lang/async.ts';
import { environmentFailure } from '../environment-failure.ts';
import { processTransport, type ServerProcess } from './process-transport.ts';
import { type HttpServer, isProcess, type Server } from './server-list.ts';
import { type Shown, shownResult } from './tool-result.ts';

/** A tool as a server lists it. */
export type McpTool = { readonly name: string; readonly description?: string; readonly inputSchema: object };

/** One server of an attempt. */
export type Connection = {
  readonly tools: readonly McpTool[];
  /**
   * @throws EnvironmentFailure `environment-lost` when the server ends or does not answer in time,
   *   `environment-broken` when it answers with an error that is not about the call's arguments
   */
  readonly call: (
    tool: string,
    given: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ) => Promise<Shown>;
  /** Never throws. */
  readonly close: () => Promise<void>;
};

/** ms, at least: `npx` may have to fetch the server first */
const START_LIMIT_MS = 60_000;

type Options = {
  /** of the server in the file, for messages */
  readonly name: string;
  /** ms for one answer */
  readonly limitMs: number;
  readonly signal: AbortSignal;
};

/**
 * Starts or reaches a server, and lists its tools.
 *
 * @throws EnvironmentFailure `environment-unavailable`
 */
export async function connect(server: Server, { name, limitMs, signal }: Options): Promise<Connection> {
  const { transport, ending }: ServerProcess = isProcess(server)
    ? processTransport(server)
    : { transport: httpTransport(server), ending: () => undefined };
  const client = new Client({ name: 'clawloop', version: '1' });
  const close = () => closeQuietly(client, transport);
  const startLimitMs = Math.max(limitMs, START_LIMIT_MS);
  let answerLimitMs = startLimitMs;
  const reasonOf = (error: unknown): string =>
    `MCP server '${name}': ${ending() ?? wordsOf(error, answerLimitMs)}`;
  try {
    const atStart = { timeout: startLimitMs, signal };
    await client.connect(transport, atStart);
    const { tools } = await client.listTools({}, atStart);
    answerLimitMs = limitMs;
    return {
      tools: tools as readonly McpTool[],
      call: async (tool, given, callSignal) => {
        const params = { name: tool, arguments: { ...given } };
        try {
          const options = { timeout: limitMs, signal: callSignal };
          // not `callTool`: it rejects results that break the server's own output schema, as if the call were wrong
          return shownResult(await client.request({ method: 'tools/call', params }, options));
        } catch (error) {
          callSignal.throwIfAborted();
          if (ProtocolError.isInstance(error) && error.code === ProtocolErrorCode.InvalidParams)
            return { content: error.message, isError: true };
          const kind = isAnswer(error) ? 'environment-broken' : 'environment-lost';
          throw environmentFailure(kind, reasonOf(error));
        }
      },
      close,
    };
  } catch (error) {
    const reason = reasonOf(error);
    await close();
    signal.throwIfAborted();
    throw environmentFailure('environment-unavailable', reason);
  }
}

function httpTransport({ type, url, headers }: HttpServer): Transport {
  const options = { requestInit: { headers } };
  return type === 'sse'
    ? new SSEClientTransport(new URL(url), options)
    : new StreamableHTTPClientTransport(new URL(url), options);
}

/** Whether the server answered, though not with a result. */
const isAnswer = (error: unknown): boolean =>
  ProtocolError.isInstance(error) ||
  error instanceof z.ZodError ||
  (SdkError.isInstance(error) && error.code === SdkErrorCode.InvalidResult);

function wordsOf(error: unknown, limitMs: number): string {
  if (SdkError.isInstance(error) && error.code === SdkErrorCode.RequestTimeout)
    return `no answer within ${limitMs / 1000} s`;
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/** ms for the message to a server that its session ends */
const GOODBYE_MS = 2_000;

async function closeQuietly(client: Client, transport: Transport): Promise<void> {
  // A shared server then forgets the session at once, not when it is idle.
  if (transport instanceof StreamableHTTPClientTransport)
    await withDeadline(transport.terminateSession(), GOODBYE_MS, () => {}).catch(() => {});
  await client.close().catch(() => {});
  await transport.close().catch(() => {}); // the client does not close a transport that failed to start
}
