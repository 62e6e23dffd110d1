import { z } from 'zod';

/** What an agent program says in headers of its own. */
export type ProgramHeaders = {
  readonly session: string | undefined;
  /** a request beside the conversation: of a subagent, or for the program itself */
  readonly turnType: 'side' | undefined;
};

/** Codex: more is in it, and more may come. */
const codexTurn = z.object({ request_kind: z.string().optional(), agent_name: z.string().optional() });

/**
 * Claude Code names its session, and a subagent by an id of its own. Codex names the thread and, in JSON, what kind of
 * request it is. A header that cannot be read says nothing.
 * @param header of that name, in lower case
 */
export function readProgramHeaders(header: (name: string) => string | undefined): ProgramHeaders {
  const session = header('x-claude-code-session-id') ?? header('thread-id') ?? header('session-id');
  const isOfAgent = header('x-claude-code-agent-id') !== undefined;
  const requestClass = header('x-claude-code-request-class');
  const { request_kind: kind, agent_name: agent } = codexMetadata(header('x-codex-turn-metadata'));
  const isBeside =
    isOfAgent ||
    (requestClass !== undefined && requestClass !== 'main') ||
    (kind !== undefined && kind !== 'turn') ||
    (agent !== undefined && agent !== '/root');
  return { session, turnType: isBeside ? 'side' : undefined };
}

function codexMetadata(text: string | undefined): z.infer<typeof codexTurn> {
  if (text === undefined) return {};
  try {
    return codexTurn.safeParse(JSON.parse(text)).data ?? {};
  } catch {
    return {};
  }
}
