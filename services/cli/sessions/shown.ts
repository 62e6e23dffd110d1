import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { readAll } from '../../../shared/log/read-topic.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { excerpt, formatTable } from '../../../shared/runtime/table.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { describeStage, describeVerdict } from '../../../shared/views/describe-turn.ts';
import { type TurnView, TurnViews, turnTypes } from '../../../shared/views/turn-view.ts';

type Sessions = {
  readonly bySession: ReadonlyMap<string, readonly TurnView[]>;
  readonly closed: ReadonlySet<string>;
  /** task of each rewarded session */
  readonly tasks: ReadonlyMap<string, string>;
};

const readSessions = (settings: CliConfig): Promise<Sessions> =>
  withLog(settings, async (log) => {
    const views = new TurnViews();
    const closed = new Set<string>();
    const tasks = new Map<string, string>();
    const onRecord = ({ event }: Recorded): void => {
      views.on(event);
      if (event.type === 'session.closed') closed.add(event.data.session);
      if (event.type === 'session.started') tasks.set(event.data.session, event.data.task ?? '');
    };
    await readAll(log, onRecord, new Set([...turnTypes, 'session.closed', 'session.started']));
    const withTurns = Map.groupBy(views.turns.values(), (turn) => turn.session || '(not known yet)');
    const bySession = new Map<string, readonly TurnView[]>(withTurns);
    for (const session of tasks.keys()) if (!withTurns.has(session)) bySession.set(session, []);
    return { bySession, closed, tasks };
  });

/** Prints every session: turns, trained turns, open or closed. */
export async function listSessions(settings: CliConfig, asJson: boolean): Promise<number> {
  const { bySession, closed, tasks } = await readSessions(settings);
  if (asJson) {
    const listed = [...bySession].map(([session, turns]) => ({
      session,
      task: tasks.get(session) ?? null,
      turns: turns.length,
      trained: turns.filter((turn) => turn.stage.kind === 'trained').length,
      from: turns[0]?.time ?? null,
      to: turns.at(-1)?.time ?? null,
      state: closed.has(session) ? 'closed' : 'open',
    }));
    console.log(JSON.stringify(listed));
    return 0;
  }
  const rows = [...bySession].map(([session, turns]) => [
    session, // in full, for `sessions show` and `turns list --session`
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

/** Prints the turns of a session. @throws UsageError when there is no such session */
export async function showSession(settings: CliConfig, session: string | undefined): Promise<number> {
  const turns = (await readSessions(settings)).bySession.get(session ?? '');
  if (turns === undefined) throw new UsageError(`no session '${session ?? ''}'; see clawloop sessions list`);
  for (const turn of turns) console.log(story(turn));
  if (turns.length === 0) console.log('no turns yet');
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
