import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { type Command, UsageError } from '../command.ts';
import { readOptions, splitAction, wholeNumber } from '../options.ts';
import { readAll } from '../read-topic.ts';
import { excerpt, formatTable } from '../table.ts';
import {
  createTurnViews,
  describeDisagreement,
  describeStage,
  isUnheard,
  rounded,
  type TurnView,
} from '../views/turn-view.ts';
import { withLog } from '../with-log.ts';
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
  about: 'every turn, and why it did or did not train',
  details: [
    ['--why', 'besides, how many turns ended how'],
    ['--session S', 'of this session alone'],
    ['--adapters A,B', 'of these alone'],
    ['-n, --last N', 'the latest N'],
    ['--json', 'one object per line'],
    ['withdraw ID', 'this turn does not train, whatever it waits for; too late once it is in a batch'],
    ['--reason TEXT', 'of the withdrawal; stands in the fact'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    if (action === 'withdraw') return withdraw(rest);
    if (action !== 'list') throw new UsageError(`turns ${action}? one of: list, withdraw`);
    const { values, settings } = readOptions(rest, options);
    return withLog(settings, async (log) => {
      const views = createTurnViews();
      await readAll(log, ({ event }) => views.on(event));
      const chosen = [...views.turns.values()]
        .filter((turn) => values.session === undefined || turn.session === values.session)
        .filter((turn) => settings.adapters?.includes(turn.adapter) ?? true)
        .sort((a, b) => a.time.localeCompare(b.time));
      const last = values.last === undefined ? chosen.length : wholeNumber(values.last, '--last');
      const shown = chosen.slice(Math.max(0, chosen.length - last)).map(concealed);
      if (values.json) for (const turn of shown) console.log(JSON.stringify(turn));
      else console.log(formatTable(headings, shown.map(rowWith(adaptersIn(chosen) > 1))));
      if (values.why) console.log(`\n${reasons(chosen)}`);
      if (values.why) console.log(unheard(chosen.map(concealed)));
      const different = chosen.filter((turn) => turn.disagreement !== undefined).length;
      if (values.why && different > 0)
        console.log(`\n${different} of them are by their content something else than their client said`);
      return 0;
    });
  },
};

function withdraw(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, { reason: { type: 'string' } });
  const [turnId, ...more] = words;
  if (turnId === undefined || more.length > 0) throw new UsageError('turns withdraw ID: the id of one turn');
  return withLog(settings, (log) => withdrawTurn(log, turnId, values.reason));
}

/** What is said to a person who looks is no place for a secret either. */
const concealed = (turn: TurnView): TurnView => ({
  ...turn,
  asked: withoutSecrets(turn.asked),
  answered: withoutSecrets(turn.answered),
  reaction: withoutSecrets(turn.reaction),
});

const headings = ['time', 'turn', 'session', 'v', 'rule', 'verdict', 'outcome', 'asked', 'answered', 'then'];

const adaptersIn = (turns: readonly TurnView[]): number => new Set(turns.map(({ adapter }) => adapter)).size;

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

/** What people said, of which no judge could tell whether it is good or bad: some of it may be a complaint. */
function unheard(turns: readonly TurnView[]): string {
  const judged = turns.filter(({ score }) => score !== undefined);
  const not = judged.filter(isUnheard);
  if (not.length === 0) return '';
  const rows = not.slice(-EXAMPLES).map((turn) => [turn.turnId, excerpt(turn.reaction, 80)]);
  const what = `${not.length} of ${judged.length} reactions told the judge neither good nor bad; the latest:`;
  return `\n${what}\n${formatTable(['turn', 'then they said'], rows)}`;
}

/** Reactions that are shown. */
const EXAMPLES = 5;

/** How many turns ended how, most frequent first. */
function reasons(turns: readonly TurnView[]): string {
  const counts = new Map<string, number>();
  for (const turn of turns) {
    const outcome = turn.stage.kind === 'trained' ? 'trained' : describeStage(turn.stage);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  const rows = [...counts].sort(([, a], [, b]) => b - a).map(([outcome, count]) => [count, outcome]);
  return formatTable(['turns', 'outcome'], rows);
}
