import { z } from 'zod';
import { readTable } from './read-table.ts';

const columns = ['kind', 'program', 'role', 'text'] as const;
const row = z.object({
  /** who wrote it: a program under the user's role, or a person */
  kind: z.enum(['machine', 'person']),
  program: z.string(),
  user: z.string(),
  /** of the program's own request; undefined: the conversation's */
  system: z.string().optional(),
});

/** A message under the user's role, as it follows an answer in a history. */
export type AgentMessage = z.output<typeof row>;

const text = z.union([z.string().transform((user) => ({ user })), z.looseObject({ user: z.string() })]);

/** The messages of `agent-messages.tsv`, whose texts are JSON. Throws on a bad row. */
export const readAgentMessages = (): readonly AgentMessage[] =>
  readTable('agent-messages', columns).map((cells) =>
    row.parse({ kind: cells.kind, program: cells.program, ...text.parse(JSON.parse(cells.text ?? '')) }),
  );
