import { type CheckName, conversation, samplesOf } from './checks.ts';
import type { Client } from './client.ts';
import type { Observed } from './observe.ts';

/** A program that was run, and its failed checks. */
export type Row = {
  readonly client: Client;
  readonly seen: Observed;
  readonly failed: readonly CheckName[];
};

const apis = { chat: 'chat completions', messages: 'Messages', responses: 'Responses' } as const;

/** The generated blocks of docs/start/clients.md, from the programs that were run. */
export const clientsBlocks = (rows: readonly Row[]): Readonly<Record<string, string>> => ({
  'programs tried': [
    '| program | version | API | driven by | its own requests | turns that trained | known limits |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(rowOf),
  ].join('\n'),
  'how to connect': rows
    .flatMap(({ client }) => [`${client.title}:`, '', '```', client.connect, '```', ''])
    .join('\n'),
});

/** The page with its generated blocks replaced. Throws if the page lacks the marks of a block. */
export function withBlocks(page: string, blocks: Readonly<Record<string, string>>): string {
  return Object.entries(blocks).reduce((text, [name, block]) => {
    const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from === -1 || to < from) throw new Error(`the page lacks "${begin}" or "${end}"`);
    return `${text.slice(0, from + begin.length)}\n\n${block.trim()}\n\n${text.slice(to)}`;
  }, page);
}

function rowOf({ client, seen, failed }: Row): string {
  const own = seen.replies.map(({ reply }) => reply.kind).filter((kind) => kind !== 'conversation');
  const limits = [
    ...client.limits,
    ...(client.losesNextOf ? ['the turn before a compaction has no next state'] : []),
    ...failed.map((name) => `not so: ${name}`),
  ];
  const cells = [
    client.title,
    client.package.version,
    apis[client.api],
    client.driven,
    [...new Set(own)].join(', ') || 'nothing',
    `${samplesOf(seen).length} of ${conversation(seen).length}`,
    limits.join('; '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
