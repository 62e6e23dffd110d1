import { secretRules } from '../../shared/secrets/secret-rules.ts';
import { automatedKinds } from './automated.ts';
import { dropReasons } from './drop-reasons.ts';
import { helperPrompts } from './helper-prompts.ts';
import { sessionWays } from './session.ts';
import { laterReasons, skipRules } from './skip-reason.ts';
import { turnRules } from './turn-type.ts';

/** The generated blocks of docs/use/where-did-my-turn-go.md, from the tables by which the collector decides. */
export function whereDidMyTurnGo(): Readonly<Record<string, string>> {
  const programs = new Set(helperPrompts.flatMap(({ client }) => client.split(', ')));
  return {
    'ways to find a session': table(
      ['`sessionBy`', 'how'],
      [
        ...sessionWays.map(({ by, about }) => [by, about]),
        ['new', 'none of these: it begins a session, named after itself'],
      ],
    ),
    'turn rules': table(
      ['`rule`', 'type', 'when'],
      turnRules.map(({ name, type, about }) => [name, type, about]),
    ),
    'known programs': `${new Intl.ListFormat('en').format([...programs].toSorted())}.`,
    'reasons to skip': table(
      ['reason', 'known', 'what happened'],
      [
        ...skipRules.map(({ reason, about }) => [reason, 'at once', about]),
        ...Object.entries(laterReasons).map(([reason, about]) => [reason, 'later', about]),
      ],
    ),
    'automated messages': `${automatedKinds.map(({ kind }) => `\`${kind}\``).join(', ')}.`,
    'reasons to drop': table(['reason', 'what happened'], Object.entries(dropReasons)),
    'kinds of secrets': table(
      ['kind', 'what'],
      secretRules.map(({ kind, about }) => [kind, about]),
    ),
  };
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n');
const row = ([first, ...rest]: readonly string[]) => `| \`${first}\` | ${rest.join(' | ')} |`;
