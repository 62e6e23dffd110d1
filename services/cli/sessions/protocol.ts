import { answerOrRefuse } from '../answer-or-refuse.ts';
import { UsageError } from '../command.ts';
import { endpointSettings, sessionKeySetting } from '../config.ts';
import { createSessionClient, originOf } from '../rl-client.ts';
import { formatTable } from '../table.ts';
import { endpointHere } from '../up/endpoint-here.ts';
import { endpointOf } from '../up/readiness.ts';

/** What the commands that speak the session protocol are given. */
export type ProtocolFlags = {
  /** of the ClawLoop that is meant where no address is given */
  readonly dataFolder: string;
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly task?: string | undefined;
  readonly refresh?: string | undefined;
  readonly model?: string | undefined;
  readonly interaction?: string | undefined;
  readonly discard?: boolean | undefined;
  readonly json?: boolean | undefined;
};

const addressOf = ({ url, dataFolder }: ProtocolFlags): string => originOf(url ?? endpointHere(dataFolder));

const accessKeyOf = ({ key }: ProtocolFlags): string | undefined => key ?? endpointSettings([]).apiKey;

/** The key of a session. @throws UsageError where none was given */
function sessionKeyOf({ key }: ProtocolFlags): string {
  const given = key ?? sessionKeySetting();
  if (given === undefined)
    throw new UsageError('whose session? give --key sk-sess-..., or set CLAWLOOP_SESSION_KEY');
  return given;
}

/** Opens a session, and says how its key is used. The access key that opened it is not shown. */
export async function startSession(flags: ProtocolFlags): Promise<number> {
  const url = addressOf(flags);
  const client = createSessionClient(url, accessKeyOf(flags));
  const task = flags.task ?? (flags.refresh === undefined ? 'task' : undefined);
  const { session, key } = answerOrRefuse(await client.start(task, flags), url);
  console.log(
    flags.json
      ? JSON.stringify({ session_id: session, api_key: key, base_url: url })
      : howToUse(session, key, url, flags),
  );
  return 0;
}

function howToUse(session: string, key: string, url: string, flags: ProtocolFlags): string {
  const where = url === endpointOf().url ? '' : ` --url ${url}`;
  const access = flags.key === undefined ? '' : ' --key ...';
  return `session  ${session}
key      ${key}

What is said with this key belongs to the session:

  export CLAWLOOP_SESSION_KEY=${key}
  export OPENAI_BASE_URL=${url}/v1 OPENAI_API_KEY=$CLAWLOOP_SESSION_KEY
  export ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=$CLAWLOOP_SESSION_KEY

Then:

  clawloop sessions reward 0.5${where}       -1 to 1, for its last answer; --interaction ID for another
  clawloop sessions end${where}              trains by the rewards; none: 0 for the last answer
  clawloop sessions start --refresh $CLAWLOOP_SESSION_KEY${access}${where}
                                  ends it and begins the next one under the same key`;
}

/** The sessions of an access key, as the server has them: also where the log is on another machine. */
export async function listOnServer(flags: ProtocolFlags): Promise<number> {
  const url = addressOf(flags);
  const listed = answerOrRefuse(await createSessionClient(url, accessKeyOf(flags)).list(), url);
  if (flags.json) {
    console.log(JSON.stringify(listed));
    return 0;
  }
  const rows = listed.map((one) => [
    ...[one.session_id, one.task_id ?? '', one.interaction_count],
    one.rewards.map(({ reward }) => reward).join(' '),
    one.started_at.slice(0, 19),
    one.ended_at?.slice(11, 19) ?? '',
    one.end_reason ?? one.state,
  ]);
  console.log(formatTable(['session', 'task', 'answers', 'rewards', 'from', 'to', 'state'], rows));
  return 0;
}

/** `value`: -1 to 1; the server says so. */
export async function rewardSession(value: string | undefined, flags: ProtocolFlags): Promise<number> {
  const url = addressOf(flags);
  const reward = Number(value ?? 1);
  if (value?.trim() === '' || !Number.isFinite(reward))
    throw new UsageError(`a reward is a number from -1 to 1, not '${value}'`);
  const key = sessionKeyOf(flags);
  const { interaction } = flags;
  const rewarded = answerOrRefuse(
    await createSessionClient(url, undefined).reward(key, { reward, interaction }),
    url,
  );
  console.log(
    flags.json ? JSON.stringify({ reward, interaction_id: rewarded }) : `${reward} for ${rewarded}`,
  );
  return 0;
}

/** `session`: its name, for who opened it and has not its key. */
export async function endSession(session: string | undefined, flags: ProtocolFlags): Promise<number> {
  const url = addressOf(flags);
  const { discard } = flags;
  const client = createSessionClient(url, accessKeyOf(flags));
  const ended =
    session === undefined
      ? await client.end(sessionKeyOf(flags), { discard })
      : await client.endNamed(session, { discard });
  const count = answerOrRefuse(ended, url);
  const answers = `${count} ${count === 1 ? 'answer' : 'answers'}`;
  console.log(
    flags.json
      ? JSON.stringify({ interaction_count: count })
      : `ended after ${answers}${discard ? '; it trains nobody' : ''}`,
  );
  return 0;
}
