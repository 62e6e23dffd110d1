import { type Command, UsageError } from '../command.ts';
import { readOptions, splitAction } from '../options.ts';
import { readAll } from '../read-topic.ts';
import { excerpt, formatTable } from '../table.ts';
import { createTurnViews, describeStage, type TurnView } from '../views/turn-view.ts';
import { withLog } from '../with-log.ts';

export const sessions: Command = {
  name: 'sessions',
  usage: 'list | show SESSION',
  about: 'conversations as the collector sees them',
  details: [
    ['list', 'every conversation: turns, how many trained, whether it is open'],
    ['show SESSION', 'its turns, step by step'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    const { words, settings } = readOptions(rest, {});
    if (action !== 'list' && action !== 'show')
      throw new UsageError(`sessions ${action}? one of: list, show`);
    return withLog(settings, async (log) => {
      const views = createTurnViews();
      const closed = new Set<string>();
      await readAll(log, ({ event }) => {
        views.on(event);
        if (event.type === 'session.closed') closed.add(event.data.session);
      });
      const bySession = Map.groupBy(views.turns.values(), (turn) => turn.session || '(not known yet)');
      if (action === 'list') {
        console.log(
          formatTable(['session', 'turns', 'trained', 'from', 'to', 'state'], summaries(bySession, closed)),
        );
        return 0;
      }
      const turns = bySession.get(words[0] ?? '');
      if (turns === undefined)
        throw new UsageError(`no session '${words[0] ?? ''}'; see clawloop sessions list`);
      for (const turn of turns) console.log(story(turn));
      return 0;
    });
  },
};

const summaries = (bySession: ReadonlyMap<string, readonly TurnView[]>, closed: ReadonlySet<string>) =>
  [...bySession].map(([session, turns]) => [
    session, // whole: `sessions show` and `turns list --session` ask for it
    turns.length,
    turns.filter((turn) => turn.stage.kind === 'trained').length,
    turns[0]!.time.slice(0, 19),
    turns.at(-1)!.time.slice(11, 19),
    closed.has(session) ? 'closed' : 'open',
  ]);

const story = (turn: TurnView): string =>
  [
    `${turn.time}  ${turn.turnId}  v${turn.version}  ${turn.rule}`,
    `  user       ${excerpt(turn.asked, 160)}`,
    `  assistant  ${excerpt(turn.answered, 160)}`,
    `  verdict    ${turn.score === undefined ? 'none yet' : `${turn.score ?? 'unavailable'} by ${turn.source}`}` +
      `${turn.votes.length === 0 ? '' : `, votes ${turn.votes.join(' ')}`}`,
    `  outcome    ${describeStage(turn.stage)}`,
    '',
  ].join('\n');
