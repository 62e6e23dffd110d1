import { existsSync } from 'node:fs';
import type { WordsErased } from '../../../shared/events/words-erased.ts';
import type { KafkaConnectionOptions } from '../../../shared/log/kafka/connection.ts';
import { copyRewritten, planCopy } from '../../../shared/log/kafka/log-rewrite.ts';
import {
  activeMembers,
  metaOf,
  noteReplaced,
  replacedTopics,
} from '../../../shared/log/kafka/replaced-log.ts';
import { openStillLog, type StillLog } from '../../../shared/log/kafka/still-log.ts';
import { claimFile } from '../../../shared/runtime/claim.ts';
import { utcNow } from '../../../shared/runtime/clock.ts';
import { kafkaConnection } from '../../../shared/runtime/open-log.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { INTERRUPTED } from '../../../shared/runtime/stop-on-signals.ts';
import { onKafka } from '../backup/open-log-place.ts';
import { runVisibly } from '../backup/run-visibly.ts';
import { groups } from '../create-topics.ts';
import { rewritingOf } from './erase.ts';
import { cleanFiles } from './files.ts';
import {
  type Found,
  find,
  isConfirmed,
  NOT_YET,
  print,
  printDryRun,
  printEarly,
  type Request,
  userName,
  type Wish,
  withdrawOpen,
} from './find.ts';
import { type CopyPlace, proveCopy } from './prove-copy.ts';
import { limitLines, nameOf, planLines, waitLines } from './report.ts';
import { openSharedAnswers, type RedisOfServices, type SharedAnswers } from './shared-answers.ts';

/** Where the words are; `into`: prefix of the topics that get the log without them. */
export type KafkaPlace = Omit<CopyPlace, 'into'> & {
  readonly into: string | undefined;
  readonly redis: RedisOfServices;
};

/** ms to wait for a moment without writes: an open transaction of a process that died ends within seconds */
export const PATIENCE_MS = 60_000;

/** Shows what would be erased from Kafka; may run beside the services. */
export async function dryRunOnKafka(place: KafkaPlace, request: Request): Promise<number> {
  return withLogs(place, async ({ log, answers }) =>
    printDryRun(await find(log, place.data, request), await answerLines(answers)),
  );
}

/**
 * Withdraws what may still train; then, with the services stopped and a prefix for it, copies the log without the words.
 * The old topics stay as they are until `deleteOld`.
 */
export async function forgetOnKafka(place: KafkaPlace, request: Request, wish: Wish): Promise<number> {
  const { data, settings, into } = place;
  const claim = existsSync(data.root) ? claimFile(data.claim) : { release: () => {} };
  try {
    return await withLogs(place, async (open) => {
      const found = await find(open.log, data, request);
      const who = await activeMembers(open.from);
      const isRunning = claim === undefined || who.length > 0;
      if (isRunning || waitLines(found.plan, found.files).length > 0) {
        await withdrawOpen(settings, found.plan);
        return printEarly(found, { isRunning, who, stop: STOP });
      }
      print([...planLines(found.plan, found.files), ...(await answerLines(open.answers))]);
      if (into === undefined) {
        print([`nothing was erased: records on Kafka cannot be rewritten. ${INTO}`]);
        return NOT_YET;
      }
      return await eraseInto({ ...place, into }, open, found, wish);
    });
  } finally {
    claim?.release();
  }
}

const INTO = 'Add --into-prefix NEW, a prefix without topics that gets the log without the words';
const STOP = 'stop the services of all hosts, then run this command again with --into-prefix NEW';

type Open = {
  readonly from: KafkaConnectionOptions;
  readonly log: StillLog;
  readonly answers: SharedAnswers | undefined;
};

async function withLogs<Result>(
  { settings, redis }: KafkaPlace,
  use: (open: Open) => Promise<Result>,
): Promise<Result> {
  const from = await kafkaConnection(settings);
  const meta = await metaOf(from);
  if (meta.kind === 'named' && meta.replacedBy?.isDeleted)
    throw new Refusal(
      `the topics of ${settings.kafkaPrefix} were deleted after an erasure: give --kafka-prefix ${meta.replacedBy.prefix}`,
    );
  const answers = await openSharedAnswers(redis);
  try {
    const signal = new AbortController().signal;
    const expected = groups.map(({ group }) => group);
    const log = await openStillLog(from, { patienceMs: PATIENCE_MS, signal, expected });
    try {
      return await use({ from, log, answers });
    } finally {
      await log.close();
    }
  } finally {
    await answers?.close();
  }
}

async function answerLines(answers: SharedAnswers | undefined): Promise<readonly string[]> {
  if (answers === undefined)
    return [
      'REDIS  if the services use --queue redis, give it here, too: answers are stored there for a day',
    ];
  const count = await answers.count();
  return count === 0 ? [] : [`${count} entries of stored answers on Redis, of everybody`];
}

type Copied = CopyPlace & Pick<KafkaPlace, 'redis'>;

async function eraseInto(place: Copied, open: Open, found: Found, wish: Wish): Promise<number> {
  const { plan, files } = found;
  const to = await kafkaConnection({ ...place.settings, kafkaPrefix: place.into });
  const state = await stateOf(place, open, to);
  if (!(await isConfirmed(`Erase ${nameOf(plan.target)}?`, wish))) return NOT_YET;
  const time = utcNow();
  const done = await runVisibly('The old topics are as they were', async ({ signal }) => {
    const fact =
      state === 'replaced'
        ? undefined
        : await onKafka(place.settings, place.data, () =>
            copyOnce({ place, open, to, isCopied: state === 'copied' }, plan, { time, wish, signal }),
          );
    await cleanFiles(files, plan.probes);
    await open.answers?.remove();
    return { fact };
  });
  if (done === undefined) return INTERRUPTED;
  const { fact } = done;
  print([...doneLines(place, state, fact), ...limitLines(plan, fact?.time ?? time)]);
  return 0;
}

/**
 * `replaced`: the copy is complete and proven, perhaps by another host. `copied`: a command that was killed may have
 * completed it. `empty`: there is none. @throws Refusal
 */
type State = 'empty' | 'copied' | 'replaced';

async function stateOf(
  { settings, into }: Copied,
  { from, log }: Open,
  to: KafkaConnectionOptions,
): Promise<State> {
  if (into === settings.kafkaPrefix)
    throw new Refusal('--into-prefix is the prefix of the log: give another');
  const [old, copy] = [await metaOf(from), await metaOf(to)];
  const replacedBy = old.kind === 'named' ? old.replacedBy : undefined;
  if (replacedBy?.prefix === into) return 'replaced';
  if (replacedBy !== undefined)
    throw new Refusal(`the topics of ${replacedBy.prefix} have this log already: give that --into-prefix`);
  if (copy.kind !== 'named') return 'empty';
  if (copy.logId === log.logId) return 'copied';
  throw new Refusal(`the topics of ${into} hold another log: give another --into-prefix`);
}

type CopyStep = {
  readonly place: Copied;
  readonly open: Open;
  readonly to: KafkaConnectionOptions;
  readonly isCopied: boolean;
};

/** Copies the log if that is not done, proves the copy, and says in the old topics that they are replaced. */
async function copyOnce(
  { place, open: { from, log }, to, isCopied }: CopyStep,
  plan: Found['plan'],
  { time, wish, signal }: { readonly time: string; readonly wish: Wish; readonly signal: AbortSignal },
): Promise<WordsErased | undefined> {
  if (!isCopied) {
    const rewriting = rewritingOf(plan, { by: userName(), reason: wish.reason, time });
    const planned = await planCopy(log, { rewriting, signal });
    if (planned.fact === undefined) return undefined;
    await copyRewritten(log, to, planned, { rewriting, signal });
  }
  const erasure = await proveCopy(log, place);
  const { scope, name, key } = erasure.data;
  if (scope !== plan.target.scope || name !== plan.target.name || key !== plan.target.key)
    throw new Refusal(
      `the topics of ${place.into} are a copy from which ${nameOf({ scope, name, key })} was erased: give another --into-prefix`,
    );
  const meta = await metaOf(to);
  const restore = meta.kind === 'named' ? (meta.restore ?? '') : '';
  await log.requireStill();
  const topics = [...(await replacedTopics(from))];
  const replacedBy = { prefix: place.into, restore, topics, isDeleted: false };
  await noteReplaced(from, { logId: log.logId, replacedBy });
  return erasure;
}

function doneLines(
  { settings, into }: Copied,
  state: State,
  fact: WordsErased | undefined,
): readonly string[] {
  if (state !== 'replaced' && fact === undefined)
    return ['the log had no words left, so nothing was copied; the files of this data folder were searched'];
  const old = settings.kafkaPrefix;
  return [
    fact === undefined
      ? `the topics of ${into} have the log without the words already; the files of this data folder were searched`
      : `erased: ${fact.data.records} records and ${fact.data.rows} rows, in the copy with the prefix ${into}. It balances`,
    `NEXT  run the same command on each other host of the services, for the files there`,
    `NEXT  start all services with --kafka-prefix ${into}; they refuse ${old} now`,
    `NEXT  the old topics still hold the words: clawloop forget --delete-old --into-prefix ${into} --log kafka --kafka-prefix ${old}`,
  ];
}
