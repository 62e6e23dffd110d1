import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { excerpt, formatTable } from '../../../shared/runtime/table.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { describeStage, describeVerdict } from '../../../shared/views/describe-turn.ts';
import type { FoundTurn } from '../../../shared/views/found-turn.ts';
import { readTextsOf, withTexts } from '../../../shared/views/read-texts.ts';
import type { IndexedSession } from '../../../shared/views/turn-index/queries.ts';
import { withTurnIndex } from '../../../shared/views/turn-index/turn-index.ts';
import type { TurnView } from '../../../shared/views/turn-view.ts';
import { noteTrims } from '../trimmed-note.ts';

/** The name under which turns are listed whose session is not known yet. */
const UNKNOWN = '(not known yet)';

const stateOf = ({ state }: IndexedSession): string => (state?.wasClosed ? 'closed' : 'open');
/** Undefined: no client started the session. */
const taskOf = ({ state }: IndexedSession): string | undefined =>
  state?.isStarted ? (state.task ?? '') : undefined;

/** Prints every session: turns, trained turns, open or closed. */
export async function listSessions(settings: CliConfig, asJson: boolean): Promise<number> {
  const sessions = await withLog(settings, async (log) => {
    const found = await withTurnIndex({ log, folder: snapshotsOf(settings) }, (index) => index.sessions());
    await noteTrims(log);
    return found.map((one) => ({ ...one, session: one.session || UNKNOWN }));
  });
  if (asJson) {
    const listed = sessions.map((one) => ({
      session: one.session,
      task: taskOf(one) ?? null,
      turns: one.turns,
      trained: one.trained,
      from: one.from ?? null,
      to: one.to ?? null,
      state: stateOf(one),
    }));
    console.log(JSON.stringify(listed));
    return 0;
  }
  const rows = sessions.map((one) => [
    one.session, // in full, for `sessions show` and `turns list --session`
    taskOf(one) ?? '',
    one.turns,
    one.trained,
    one.from?.slice(0, 19) ?? '',
    one.to?.slice(11, 19) ?? '',
    stateOf(one),
  ]);
  console.log(formatTable(['session', 'task', 'turns', 'trained', 'from', 'to', 'state'], rows));
  return 0;
}

const snapshotsOf = (settings: CliConfig): string => dataFolder(settings.dataFolder).snapshots;

/** Prints the turns of a session. @throws UsageError when there is no such session */
export async function showSession(settings: CliConfig, session = ''): Promise<number> {
  return withLog(settings, async (log) => {
    const turns = await turnsOf(log, snapshotsOf(settings), session);
    await noteTrims(log);
    if (turns === undefined) throw new UsageError(`no session '${session}'; see clawloop sessions list`);
    const rows = turns.map(({ row }) => row);
    const texts = await readTextsOf(log, rows);
    for (const { row, view } of turns) console.log(story(withTexts(view, texts.get(row.id)!)));
    if (turns.length === 0) console.log('no turns yet');
    return 0;
  });
}

/** Undefined: there is no such session. */
async function turnsOf(
  log: EventLog,
  folder: string,
  session: string,
): Promise<readonly FoundTurn[] | undefined> {
  if (session === '') return undefined;
  const name = session === UNKNOWN ? '' : session;
  return withTurnIndex({ log, folder }, (index) => {
    const turns = index.turns({ session: name });
    return turns.length > 0 || index.session(name)?.isStarted ? turns : undefined;
  });
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
