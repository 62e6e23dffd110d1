import { type Answer, createSessionClient, originOf } from '../../../clients/api-client.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import { endpointSettings, sessionKeySetting } from '../config.ts';
import { endpointHere } from '../up/endpoint-here.ts';
import { endpointOf } from '../up/readiness.ts';

/** Options of the commands that use the session protocol. */
export type ProtocolFlags = {
  /** data folder of the server when no URL is given */
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

/** The key of a session. @throws UsageError when none is given */
function sessionKeyOf({ key }: ProtocolFlags): string {
  const sessionKey = key ?? sessionKeySetting();
  if (sessionKey === undefined)
    throw new UsageError('no session key: give --key sk-sess-..., or set CLAWLOOP_SESSION_KEY');
  return sessionKey;
}

/** Opens a session and prints how to use its key. The access key is not shown. */
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

All requests with this key belong to the session:

  export CLAWLOOP_SESSION_KEY=${key}
  export OPENAI_BASE_URL=${url}/v1 OPENAI_API_KEY=$CLAWLOOP_SESSION_KEY
  export ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=$CLAWLOOP_SESSION_KEY

Then:

  clawloop sessions reward 0.5${where}       rate the last answer, -1 to 1; --interaction ID for another one
  clawloop sessions end${where}              end it and train; without rewards, the last answer gets 0
  clawloop sessions start --refresh $CLAWLOOP_SESSION_KEY${access}${where}
                                  end it and start the next one under the same key`;
}

/** The sessions of an access key, from the server; also works when the log is on another machine. */
export async function listOnServer(flags: ProtocolFlags): Promise<number> {
  const url = addressOf(flags);
  const listed = answerOrRefuse(await createSessionClient(url, accessKeyOf(flags)).list(), url);
  if (flags.json) {
    console.log(JSON.stringify(listed));
    return 0;
  }
  const rows = listed.map((session) => [
    session.session_id,
    session.task_id ?? '',
    session.interaction_count,
    session.rewards.map(({ reward }) => reward).join(' '),
    session.started_at.slice(0, 19),
    session.ended_at?.slice(11, 19) ?? '',
    session.end_reason ?? session.state,
  ]);
  console.log(formatTable(['session', 'task', 'answers', 'rewards', 'from', 'to', 'state'], rows));
  return 0;
}

/** `value`: -1 to 1; the server checks the range. */
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

/** Ends the session of a key, or a session by name with the access key that opened it. */
export async function endSession(session: string | undefined, flags: ProtocolFlags): Promise<number> {
  const url = addressOf(flags);
  const { discard } = flags;
  const client = createSessionClient(url, accessKeyOf(flags));
  const ended =
    session === undefined
      ? await client.end(sessionKeyOf(flags), { discard })
      : await client.endNamed(session, { discard });
  const { answers: count } = answerOrRefuse(ended, url);
  const answers = `${count} ${count === 1 ? 'answer' : 'answers'}`;
  console.log(
    flags.json
      ? JSON.stringify({ interaction_count: count })
      : `ended after ${answers}${discard ? '; nothing of it trains' : ''}`,
  );
  return 0;
}

/** The server's answer. @throws UsageError with the server's refusal, or when there is no answer */
function answerOrRefuse<Value>(answer: Answer<Value>, url: string): Value {
  switch (answer.kind) {
    case 'answer':
      return answer.value;
    case 'silent':
      throw new UsageError(`no answer from ${url}: ${answer.reason}`);
    case 'refused': {
      const wait = answer.retryAfter === undefined ? '' : `; try again in ${answer.retryAfter} s`;
      throw new UsageError(`${answer.message}${wait}`);
    }
  }
}
