import { readFileSync } from 'node:fs';
import { z } from 'zod';

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

const file = new URL('agent-messages.tsv', import.meta.url);
const text = z.union([z.string().transform((user) => ({ user })), z.looseObject({ user: z.string() })]);

/** One line per message, fields between tabs, the text as JSON. Throws on a bad row. */
export function readAgentMessages(): readonly AgentMessage[] {
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  if (header !== columns.join('\t')) throw new Error(`the columns are ${columns.join(', ')}`);
  return lines.map((line) => {
    const [kind, program, , json = ''] = line.split('\t');
    return row.parse({ kind, program, ...text.parse(JSON.parse(json)) });
  });
}
