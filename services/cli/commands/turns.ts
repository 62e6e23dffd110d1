import { withLog } from '../../../clients/with-log.ts';
import { readAll } from '../../../shared/log/read-topic.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { excerpt, formatTable } from '../../../shared/runtime/table.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { describeDisagreement, describeStage, rounded } from '../../../shared/views/describe-turn.ts';
import { isUnheard, type TurnView, TurnViews, turnTypes } from '../../../shared/views/turn-view.ts';
import type { Command } from '../command.ts';
import { readOptions, splitAction, wholeNumber } from '../options.ts';
import { formatBlocks } from '../turn-blocks.ts';
import { withdrawTurn } from '../withdraw-turn.ts';

const options = {
  why: { type: 'boolean' },
  json: { type: 'boolean' },
  session: { type: 'string' },
  last: { type: 'string', short: 'n' },
} as const;

export const turns: Command = {
  name: 'turns',
  usage: 'list [--why] [--session S] [-n 20] [--json] | withdraw ID',
  about: 'list every turn and why it did or did not train, or withdraw one',
  details: [
    ['--why', 'also count turns by outcome'],
    ['--session S', 'only this session'],
    ['--adapters A,B', 'only these adapters'],
    ['-n, --last N', 'only the latest N'],
    ['--json', 'print one JSON object per line'],
    ['withdraw ID', 'keep this turn from training; too late once it is in a batch'],
    ['--reason TEXT', 'reason of the withdrawal, recorded in the event'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    if (action === 'withdraw') return withdraw(rest);
    if (action !== 'list') throw new UsageError(`unknown action '${action}'; one of: list, withdraw`);
    const { values, settings } = readOptions(rest, options);
    return withLog(settings, async (log) => {
      const views = new TurnViews();
      await readAll(log, ({ event }) => views.on(event), turnTypes);
      const chosen = [...views.turns.values()]
        .filter((turn) => values.session === undefined || turn.session === values.session)
        .filter((turn) => settings.adapters?.includes(turn.adapter) ?? true)
        .sort((a, b) => a.time.localeCompare(b.time));
      const last = values.last === undefined ? chosen.length : wholeNumber(values.last, '--last');
      const shown = chosen.slice(Math.max(0, chosen.length - last)).map(concealed);
      if (values.json) for (const turn of shown) console.log(JSON.stringify(turn));
      else console.log(readable(shown, adaptersIn(chosen) > 1));
      if (values.why) console.log(`\n${reasons(chosen)}`);
      if (values.why) console.log(unheard(chosen.map(concealed)));
      const different = chosen.filter((turn) => turn.disagreement !== undefined).length;
      if (values.why && different > 0)
        console.log(`\nturns whose content contradicts what the client sent about them: ${different}`);
      return 0;
    });
  },
};

function withdraw(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, { reason: { type: 'string' } });
  const [turnId, ...more] = words;
  if (turnId === undefined || more.length > 0)
    throw new UsageError('give the id of one turn: turns withdraw ID');
  return withLog(settings, (log) => withdrawTurn(log, turnId, values.reason));
}

/** Masks secrets in the texts of a turn: they must not appear on a terminal either. */
const concealed = (turn: TurnView): TurnView => ({
  ...turn,
  asked: withoutSecrets(turn.asked),
  answered: withoutSecrets(turn.answered),
  reaction: withoutSecrets(turn.reaction),
});

const headings = [
  'time',
  'turn',
  'session',
  'v',
  'rule',
  'verdict',
  'outcome',
  'request',
  'answer',
  'reaction',
];

const adaptersIn = (turns: readonly TurnView[]): number => new Set(turns.map(({ adapter }) => adapter)).size;

/** A table where the output has room for it, as a file has; otherwise blocks of lines. */
function readable(turns: readonly TurnView[], several: boolean): string {
  const table = formatTable(headings, turns.map(rowWith(several)));
  const { isTTY, columns } = process.stdout;
  const widest = Math.max(...table.split('\n').map((line) => line.length));
  return isTTY && widest > columns ? formatBlocks(turns.map(blockWith(several)), columns) : table;
}

const blockWith = (several: boolean) => (turn: TurnView) => ({
  facts: [
    turn.time.slice(11, 19),
    `${several ? `${turn.adapter} ` : ''}v${turn.version}`,
    verdict(turn),
    describeStage(turn.stage),
    describeDisagreement(turn) ?? '',
  ],
  texts: {
    asked: turn.asked,
    answered: turn.answered,
    reaction: turn.reaction,
    turn: turn.turnId,
    session: turn.session,
  },
});

const rowWith =
  (several: boolean) =>
  (turn: TurnView): readonly (string | number)[] => [
    turn.time.slice(11, 19),
    turn.turnId,
    turn.session,
    several ? `${turn.adapter} ${turn.version}` : turn.version,
    [turn.rule, describeDisagreement(turn)].filter(Boolean).join(': '),
    verdict(turn),
    describeStage(turn.stage),
    excerpt(turn.asked, 28),
    excerpt(turn.answered, 36),
    excerpt(turn.reaction, 36),
  ];

const verdict = ({ score, source, implied }: TurnView): string =>
  score === undefined
    ? ''
    : `${score === null ? '-' : rounded(score)} (${source === 'implicit' ? implied : source})`;

/** Reactions that the judge heard as neither good nor bad; some may be complaints. */
function unheard(turns: readonly TurnView[]): string {
  const judged = turns.filter(({ score }) => score !== undefined);
  const neutral = judged.filter(isUnheard);
  if (neutral.length === 0) return '';
  const rows = neutral.slice(-EXAMPLES).map((turn) => [turn.turnId, excerpt(turn.reaction, 80)]);
  const heading = `the judge heard ${neutral.length} of ${judged.length} reactions as neither good nor bad; the latest:`;
  return `\n${heading}\n${formatTable(['turn', 'reaction'], rows)}`;
}

/** Reactions to show. */
const EXAMPLES = 5;

/** Turns by outcome, most frequent first. */
function reasons(turns: readonly TurnView[]): string {
  const counts = new Map<string, number>();
  for (const turn of turns) {
    const outcome = turn.stage.kind === 'trained' ? 'trained' : describeStage(turn.stage);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  const rows = [...counts].sort(([, a], [, b]) => b - a).map(([outcome, count]) => [count, outcome]);
  return formatTable(['turns', 'outcome'], rows);
}
