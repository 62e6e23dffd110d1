import { type CheckName, conversation, samplesOf } from './checks.ts';
import type { Client } from './client.ts';
import type { Observed } from './observe.ts';

/** A program that was run, and what did not hold. */
export type Row = {
  readonly client: Client;
  readonly seen: Observed;
  readonly failed: readonly CheckName[];
};

const apis = { chat: 'chat completions', messages: 'Messages', responses: 'Responses' } as const;

/** docs/clients.md, of the programs that were run. */
export function clientsPage(rows: readonly Row[]): string {
  return [
    '# Agent programs',
    '',
    'Each row is a run of the real program, without a person, against a ClawLoop whose engine is a scripted model',
    'that gives token ids and log-probs. `npm run test:clients -- --write-docs` makes this page.',
    '',
    'The conversation: a question, a tool and its result, a correction, praise, a compaction where the program has a',
    'command for it, a turn in a new process, an answer that is stopped, and the same words again.',
    'OpenClaw is tried by tests of its own ([OpenClaw](openclaw.md)).',
    '',
    '| program | version | API | driven by | asks by itself | turns that trained | known limits |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(rowOf),
    '',
    '## How to connect them',
    '',
    'Where the server asks for a key, an access key takes the place of `any`.',
    '',
    ...rows.flatMap(({ client }) => [`${client.title}:`, '', '```', client.connect, '```', '']),
  ].join('\n');
}

function rowOf({ client, seen, failed }: Row): string {
  const own = seen.replies.map(({ reply }) => reply.kind).filter((kind) => kind !== 'conversation');
  const limits = [
    ...client.limits,
    ...(client.losesNextOf ? ['the turn before a compaction has no next state'] : []),
    ...failed.map((name) => `not so: ${name}`),
  ];
  const cells = [
    ...[client.title, client.package.version, apis[client.api], client.driven],
    [...new Set(own)].join(', ') || 'nothing',
    `${samplesOf(seen).length} of ${conversation(seen).length}`,
    limits.join('; '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
