import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { UsageError } from '../command.ts';
import type { CliConfig } from '../config.ts';
import { readAll } from '../read-topic.ts';
import { excerpt, formatTable } from '../table.ts';
import { createTurnViews, describeStage, describeVerdict, type TurnView } from '../views/turn-view.ts';
import { withLog } from '../with-log.ts';

type Shown = {
  readonly bySession: ReadonlyMap<string, readonly TurnView[]>;
  readonly closed: ReadonlySet<string>;
  /** of those that a program opened: the task that each is an attempt at */
  readonly tasks: ReadonlyMap<string, string>;
};

const readSessions = (settings: CliConfig): Promise<Shown> =>
  withLog(settings, async (log) => {
    const views = createTurnViews();
    const closed = new Set<string>();
    const tasks = new Map<string, string>();
    await readAll(log, ({ event }) => {
      views.on(event);
      if (event.type === 'session.closed') closed.add(event.data.session);
      if (event.type === 'session.started') tasks.set(event.data.session, event.data.task ?? '');
    });
    const found = Map.groupBy(views.turns.values(), (turn) => turn.session || '(not known yet)');
    const bySession = new Map<string, readonly TurnView[]>(found);
    for (const session of tasks.keys()) if (!found.has(session)) bySession.set(session, []);
    return { bySession, closed, tasks };
  });

/** Every conversation: turns, how many trained, whether it is open. */
export async function listSessions(settings: CliConfig, asJson: boolean): Promise<number> {
  const { bySession, closed, tasks } = await readSessions(settings);
  if (asJson) {
    const listed = [...bySession].map(([session, turns]) => ({
      ...{ session, task: tasks.get(session) ?? null, turns: turns.length },
      trained: turns.filter((turn) => turn.stage.kind === 'trained').length,
      ...{ from: turns[0]?.time ?? null, to: turns.at(-1)?.time ?? null },
      state: closed.has(session) ? 'closed' : 'open',
    }));
    console.log(JSON.stringify(listed));
    return 0;
  }
  const rows = [...bySession].map(([session, turns]) => [
    session, // whole: `sessions show` and `turns list --session` ask for it
    tasks.get(session) ?? '',
    turns.length,
    turns.filter((turn) => turn.stage.kind === 'trained').length,
    turns[0]?.time.slice(0, 19) ?? '',
    turns.at(-1)?.time.slice(11, 19) ?? '',
    closed.has(session) ? 'closed' : 'open',
  ]);
  console.log(formatTable(['session', 'task', 'turns', 'trained', 'from', 'to', 'state'], rows));
  return 0;
}

/** The turns of one, step by step. @throws UsageError where there is none of that name */
export async function showSession(settings: CliConfig, session: string | undefined): Promise<number> {
  const turns = (await readSessions(settings)).bySession.get(session ?? '');
  if (turns === undefined) throw new UsageError(`no session '${session ?? ''}'; see clawloop sessions list`);
  for (const turn of turns) console.log(story(turn));
  if (turns.length === 0) console.log('nothing was said in it yet');
  return 0;
}

const story = (turn: TurnView): string =>
  [
    `${turn.time}  ${turn.turnId}  v${turn.version}  ${turn.rule}`,
    `  user       ${excerpt(withoutSecrets(turn.asked), 160)}`,
    `  assistant  ${excerpt(withoutSecrets(turn.answered), 160)}`,
    `  verdict    ${describeVerdict(turn)}`,
    `  outcome    ${describeStage(turn.stage)}`,
    '',
  ].join('\n');
