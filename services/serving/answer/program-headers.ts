import { z } from 'zod';
import { parseJson } from '../../../shared/lang/json.ts';

/** The contents of headers that agent programs define. */
type ProgramHeaders = {
  readonly session: string | undefined;
  /** `side`: a request outside the conversation, from a subagent or for the program itself */
  readonly turnType: 'side' | undefined;
};

/** The members of Codex's metadata that matter here. */
const codexTurn = z.object({ request_kind: z.string().optional(), agent_name: z.string().optional() });

/**
 * Claude Code sends the ids of its session and subagent. Codex sends the id of its thread and, as JSON, the kind of the
 * request. Invalid headers are ignored.
 * @param header value of a header, by lower-case name
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
  return (text === undefined ? undefined : codexTurn.safeParse(parseJson(text)).data) ?? {};
}
