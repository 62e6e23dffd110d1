import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import { secretRules } from '../../shared/secrets/secret-rules.ts';
import { automatedKinds } from './automated.ts';
import { helperPrompts } from './helper-prompts.ts';
import { sessionWays } from './session.ts';
import { laterReasons, skipRules } from './skip-reason.ts';
import { turnRules } from './turn-type.ts';

/**
 * Why a completed turn does not train; `stale`, `off-lineage`, `already-trained` and what was `deleted` or
 * `withdrawn` while it waited for a batch are decided by `submit`, the others by `assemble`.
 */
const dropReasons: Readonly<Record<SampleDropped['data']['reason'], string>> = {
  'no-verdict': 'the judgment was 0, and the session had a better sample or nothing to learn from',
  'no-hint': 'the adapter learns from hints only (method `opd`), and there was no hint',
  unavailable: 'no judgment: votes were missing at the deadline',
  'vote-failed': 'three votes on it timed out or crashed the judge',
  'no-reward': 'the session has rewards and ended without one for this turn',
  discarded: 'the client discarded its session, for example a failed attempt',
  deleted: 'the client deleted the response before it was in a batch',
  withdrawn: 'an operator withdrew it (`clawloop turns withdraw`) before it was in a batch',
  corrected: 'later evidence, for example a thumb, made a new sample that replaces it',
  secret: 'a hint contains an API key, password, private key, token or card number; `rule` names the kind',
  stale:
    'the head advanced by more than `--max-staleness` versions while it waited or before its session ended',
  'record-gone':
    'the record of its turn is missing, unreadable, or replaced by another; `rule` is its position',
  'set-aside':
    'its wishes are set aside because corrections had no effect; `rule` names them. New evidence takes them up again',
  contradicted: 'a later wish of the same person contradicts it; `rule` names its own wish',
  'too-late': 'later evidence came a day or more after the judgment, when the turn was forgotten',
  'off-lineage': 'the version that sampled it was rolled back and is not an ancestor of the head',
  'already-trained':
    'its batch was to train again (`clawloop policy retrain`), but the head learned from it meanwhile, or a later command returned it anew; `rule` names the batch',
};

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
