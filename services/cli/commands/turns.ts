import { withLog } from '../../../clients/with-log.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { excerpt, formatTable } from '../../../shared/runtime/table.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { describeDisagreement, describeStage, rounded } from '../../../shared/views/describe-turn.ts';
import type { FoundTurn } from '../../../shared/views/found-turn.ts';
import { readTextsOf, withTexts } from '../../../shared/views/read-texts.ts';
import type { TurnIndex } from '../../../shared/views/turn-index/queries.ts';
import { withTurnIndex } from '../../../shared/views/turn-index/turn-index.ts';
import type { TurnView } from '../../../shared/views/turn-view.ts';
import type { Command } from '../command.ts';
import { ANY_WORDS, readOptions, splitAction, wholeNumber } from '../options.ts';
import { noteTrims } from '../trimmed-note.ts';
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
    [
      'withdraw ID',
      'keep this turn from training; if a version learned from it, `policy retrain` trains again without it',
    ],
    ['--reason TEXT', 'reason of the withdrawal, recorded in the event'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    if (action === 'withdraw') return withdraw(rest);
    if (action !== 'list') throw new UsageError(`unknown action '${action}'; one of: list, withdraw`);
    const { values, settings } = readOptions(rest, options);
    const wanted = { session: values.session, adapters: settings.adapters };
    const last = values.last === undefined ? undefined : wholeNumber(values.last, '--last');
    return withLog(settings, async (log) => {
      const found = await withTurnIndex(
        { log, folder: dataFolder(settings.dataFolder).snapshots },
        (index) => ({
          chosen: index.turns(wanted, last),
          hasSeveral: index.adapters(wanted).length > 1,
          why: values.why && { counts: index.count(wanted), unheard: index.unheard(wanted, EXAMPLES) },
        }),
      );
      const { session } = values;
      if (session !== undefined && found.chosen.length === 0 && !values.json)
        throw new UsageError(`no turn of a session '${session}'; see clawloop sessions list`);
      const shown = await withWords(log, found.chosen);
      if (values.json) for (const turn of shown) console.log(JSON.stringify(turn));
      else console.log(readable(shown, found.hasSeveral));
      if (found.why) {
        const { counts } = found.why;
        console.log(`\n${reasons(counts)}`);
        console.log(await unheard(log, counts, found.why.unheard));
        const { differs } = counts;
        if (differs > 0)
          console.log(`\nturns whose content contradicts what the client sent about them: ${differs}`);
      }
      await noteTrims(log);
      return 0;
    });
  },
};

function withdraw(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, { reason: { type: 'string' } }, ANY_WORDS);
  const [turnId, ...more] = words;
  if (turnId === undefined || more.length > 0)
    throw new UsageError('give the id of one turn: turns withdraw ID');
  return withLog(settings, (log) => {
    const { snapshots: folder } = dataFolder(settings.dataFolder);
    return withdrawTurn({ log, folder }, turnId, values.reason);
  });
}

/** The turns with their words, in their order. */
async function withWords(log: EventLog, found: readonly FoundTurn[]): Promise<readonly TurnView[]> {
  const rows = found.map(({ row }) => row);
  const texts = await readTextsOf(log, rows);
  return found.map(({ row, view }) => concealed(withTexts(view, texts.get(row.id)!)));
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

type Counts = ReturnType<TurnIndex['count']>;

/** Reactions that the judge heard as neither good nor bad; some may be complaints. */
async function unheard(log: EventLog, counts: Counts, latest: readonly FoundTurn[]): Promise<string> {
  if (latest.length === 0) return '';
  const examples = await withWords(log, latest);
  const rows = examples.map((turn) => [turn.turnId, excerpt(turn.reaction, 80)]);
  const heading = `the judge heard ${counts.unheard} of ${counts.judged} reactions as neither good nor bad; the latest:`;
  return `\n${heading}\n${formatTable(['turn', 'reaction'], rows)}`;
}

/** Reactions to show. */
const EXAMPLES = 5;

/** Turns by outcome, most frequent first. */
function reasons({ outcomes }: Counts): string {
  const rows = outcomes.map(([outcome, turns]) => [turns, outcome]);
  return formatTable(['turns', 'outcome'], rows);
}
