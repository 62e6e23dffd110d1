import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { UsageError } from '../command.ts';
import type { CliConfig } from '../config.ts';
import { INTERRUPTED, stopOnSignals } from '../stop-on-signals.ts';
import { withLog } from '../with-log.ts';
import { type ExportStyle, exportLines, exportStyles } from './export-lines.ts';
import { folderWriter } from './folder-writer.ts';
import { fileWriter, type LineWriter, outputWriter } from './line-writer.ts';
import { createSessionIndex, type EndedSession, indexedTypes } from './session-index.ts';
import { sessionNodes } from './session-nodes.ts';

/** As they were typed. */
export type ExportFlags = {
  readonly style?: string | undefined;
  readonly discount?: string | undefined;
  readonly out?: string | undefined;
  readonly into?: string | undefined;
  readonly follow?: boolean | undefined;
};

type Wish = {
  /** none: all */
  readonly sessions: ReadonlySet<string>;
  readonly style: ExportStyle;
  /** undefined: that of the collector */
  readonly discount: number | undefined;
};

/**
 * Writes the sessions that are settled by reward and ended, as lines of JSON; `--follow`: and each that ends
 * from then on.
 * @throws UsageError for what was typed, and for a session that is named and has no lines to give
 */
export async function exportSessions(
  settings: CliConfig,
  words: readonly string[],
  flags: ExportFlags,
): Promise<number> {
  const wish = wishOf(words, flags);
  if (flags.out !== undefined && flags.into !== undefined)
    throw new UsageError('--out is one file, --into a folder with one per session: give one of them');
  const stop = new AbortController();
  // a supervisor that started this with a channel wants it to end with it
  process.once('disconnect', () => stop.abort());
  process.channel?.unref(); // the channel alone is nothing to stay for
  if (process.connected === false) stop.abort();
  const ignoreSignals = stopOnSignals(stop, 'clawloop: no more sessions are waited for');
  try {
    return await withLog(settings, async (log) => {
      const writer = await writerOf(flags);
      try {
        return await copySessions(log, wish, writer, { follow: flags.follow === true, stop });
      } finally {
        await writer.close();
      }
    });
  } finally {
    ignoreSignals();
  }
}

function writerOf({ out, into }: ExportFlags): Promise<LineWriter> | LineWriter {
  if (into !== undefined) return folderWriter(into);
  return out === undefined ? outputWriter : fileWriter(out);
}

function wishOf(words: readonly string[], { style = 'individual', discount }: ExportFlags): Wish {
  const known = exportStyles.find((one) => one === style);
  if (known === undefined) throw new UsageError(`--style ${style}? one of: ${exportStyles.join(', ')}`);
  const factor = discount === undefined ? undefined : Number(discount);
  if (discount?.trim() === '' || (factor !== undefined && !(factor >= 0 && factor <= 1)))
    throw new UsageError(`--discount must be a number from 0 to 1, not '${discount}'`);
  return { sessions: new Set(words), style: known, discount: factor };
}

/** The exit code. */
async function copySessions(
  log: EventLog,
  wish: Wish,
  writer: LineWriter,
  { follow, stop }: { readonly follow: boolean; readonly stop: AbortController },
): Promise<number> {
  const index = createSessionIndex();
  let woken = Promise.withResolvers<void>();
  stop.signal.addEventListener('abort', () => woken.resolve());
  const followings = (['turns', 'conversations'] as const).map((topic) =>
    log.follow(
      topic,
      {},
      ({ event, at }) => {
        index.on(event, at);
        if (event.type === 'session.closed' || event.type === 'session.ended') woken.resolve();
      },
      stop.signal,
      ({ type }) => (indexedTypes as ReadonlySet<string>).has(type),
    ),
  );
  const done = Promise.all(followings.map((following) => following.done));
  done.catch(() => stop.abort()); // told where it is awaited
  try {
    await Promise.race([Promise.all(followings.map(({ caughtUp }) => caughtUp)), done]);
    if (stop.signal.aborted) return INTERRUPTED;
    const ended = wanted(index.takeEnded(), wish);
    if (!follow) refuseMissing(wish, ended, index.open());
    const left = wish.sessions.size === 0 && !follow ? index.open().length : 0;
    tell(await copyAll(log, ended, wish, writer, stop.signal), left);
    if (stop.signal.aborted) return INTERRUPTED;
    await writer.ready();
    const missing = new Set(wish.sessions);
    for (const { session } of ended) missing.delete(session);
    while (follow && !stop.signal.aborted && (wish.sessions.size === 0 || missing.size > 0)) {
      await woken.promise;
      woken = Promise.withResolvers<void>();
      const more = wanted(index.takeEnded(), wish);
      if (more.length > 0) tell(await copyAll(log, more, wish, writer, stop.signal), 0);
      for (const { session } of more) missing.delete(session);
    }
    return 0;
  } finally {
    stop.abort();
    await done;
  }
}

const wanted = (ended: readonly EndedSession[], { sessions }: Wish) =>
  ended.filter(({ session }) => sessions.size === 0 || sessions.has(session));

type Counts = Readonly<
  Record<'sessions' | 'lines' | 'leftOut' | 'withSecrets' | 'discarded' | 'before', number>
>;

async function copyAll(
  log: Pick<EventLog, 'read'>,
  ended: readonly EndedSession[],
  wish: Wish,
  writer: LineWriter,
  stop: AbortSignal,
): Promise<Counts> {
  const kept = ended.filter(({ discarded }) => !discarded);
  const discarded = ended.length - kept.length;
  const counts = { sessions: 0, lines: 0, leftOut: 0, withSecrets: 0, discarded, before: 0 };
  for (const session of kept) {
    if (stop.aborted) break;
    if (await writer.isWritten(session.session)) {
      counts.before += 1;
      continue;
    }
    const { lines, leftOut, withSecrets } = await linesOf(log, session, wish);
    await writer.write(lines, session.session);
    counts.sessions += 1;
    counts.lines += lines.length;
    counts.leftOut += leftOut;
    counts.withSecrets += withSecrets;
  }
  return counts;
}

function refuseMissing({ sessions }: Wish, ended: readonly EndedSession[], open: readonly string[]): void {
  for (const session of sessions) {
    const found = ended.filter((one) => one.session === session);
    if (found.some(({ discarded }) => !discarded)) continue;
    if (found.length > 0) throw new UsageError(`${session} was taken back by its client`);
    throw new UsageError(
      open.includes(session)
        ? `${session} is still open: end it first, or wait with --follow`
        : `no session '${session}' that is settled by reward; see clawloop sessions list`,
    );
  }
}

async function linesOf(log: Pick<EventLog, 'read'>, session: EndedSession, { style, discount }: Wish) {
  const bodies: InteractionCompleted['data'][] = [];
  for (const { at } of session.turns)
    bodies.push(((await log.read('conversations', at)) as InteractionCompleted).data);
  const nodes = sessionNodes(session, bodies, discount);
  const settled = session.turns.find(({ earned }) => earned !== undefined)?.earned?.return?.discount ?? 1;
  return exportLines(session, nodes, style, discount ?? settled);
}

/** On the error stream: the lines may go to the other one. */
function tell(counts: Counts, open: number): void {
  const { sessions, lines, leftOut, withSecrets, discarded, before } = counts;
  const told = [`${many(sessions, 'session')} in ${many(lines, 'line')}`];
  if (before > 0) told.push(`there already: ${many(before, 'session')}`);
  if (open > 0) told.push(`left out: ${many(open, 'session')} still open`);
  if (discarded > 0) told.push(`left out: ${many(discarded, 'session')} that their clients took back`);
  if (leftOut > 0)
    told.push(`left out: ${many(leftOut, 'answer')} cut off, deleted, withdrawn or without token ids`);
  if (withSecrets > 0)
    told.push(`left out: ${many(withSecrets, 'answer')} with a secret in the prompt or the answer`);
  console.error(told.join('\n'));
}

const many = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
