import { bucketAt, isBucketUrl } from '../../shared/bucket/bucket-at.ts';
import type { CliConfig } from '../../shared/config/cli.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { INTERRUPTED, stopOnSignals } from '../../shared/runtime/stop-on-signals.ts';
import { withLog } from '../with-log.ts';
import { exportTrajectories } from './atif.ts';
import { bucketWriter } from './bucket-writer.ts';
import { type ExportStyle, exportLines, exportStyles } from './export-lines.ts';
import { folderWriter } from './folder-writer.ts';
import { exportHfRows, type HfRow } from './hf-rows.ts';
import {
  type Encoding,
  fileWriter,
  jsonLines,
  type LineWriter,
  outputWriter,
  wholeFileWriter,
} from './line-writer.ts';
import { parquetOf } from './parquet.ts';
import { type EndedSession, indexedTypes, SessionIndex } from './session-index.ts';
import { sessionNodes } from './session-nodes.ts';

/** Options as typed. */
export type ExportFlags = {
  readonly style?: string | undefined;
  readonly format?: string | undefined;
  readonly discount?: string | undefined;
  readonly out?: string | undefined;
  readonly into?: string | undefined;
  readonly follow?: boolean | undefined;
};

const styles = [...exportStyles, 'atif', 'hf'] as const;
type Style = ExportStyle | 'atif' | 'hf';

type Selection = {
  /** empty: all */
  readonly sessions: ReadonlySet<string>;
  readonly style: Style;
  /** undefined: the collector's */
  readonly discount: number | undefined;
};

/**
 * Exports ended sessions that are settled by reward, as JSON lines; with `--follow`, also those that end later.
 * @throws UsageError for invalid options, and for a named session that cannot be exported
 */
export async function exportSessions(
  settings: CliConfig,
  words: readonly string[],
  flags: ExportFlags,
): Promise<number> {
  const selection = selectionOf(words, flags);
  if (flags.out !== undefined && flags.into !== undefined)
    throw new UsageError('give either --out (one file) or --into (a folder with one file per session)');
  const encoding = encodingOf(selection.style, flags);
  const stop = new AbortController();
  // end together with a supervisor that opened a channel to this process
  process.once('disconnect', () => stop.abort());
  process.channel?.unref(); // the channel must not keep this process alive
  if (process.connected === false) stop.abort();
  const ignoreSignals = stopOnSignals(stop, 'clawloop: stopping; not waiting for more sessions');
  try {
    return await withLog(settings, async (log) => {
      const writer = await writerOf(flags, encoding, settings);
      try {
        return await copySessions(log, selection, writer, { follow: flags.follow === true, stop });
      } finally {
        await writer.close();
      }
    });
  } finally {
    ignoreSignals();
  }
}

const parquet: Encoding = {
  extension: 'parquet',
  encode: (lines) => parquetOf(lines as readonly HfRow[]),
};

/** @throws UsageError when the style has no such format, or the target cannot take it */
function encodingOf(style: Style, { format = 'jsonl', out, into, follow }: ExportFlags): Encoding {
  if (format === 'jsonl') return jsonLines;
  if (format !== 'parquet') throw new UsageError(`--format must be jsonl or parquet, not '${format}'`);
  if (style !== 'hf') throw new UsageError('--format parquet needs --style hf');
  if (into === undefined && (out === undefined || follow === true))
    throw new UsageError(
      '--format parquet writes whole files: give --out FILE without --follow, or --into FOLDER',
    );
  return parquet;
}

function writerOf(
  { out, into }: ExportFlags,
  encoding: Encoding,
  settings: CliConfig,
): Promise<LineWriter> | LineWriter {
  if (into !== undefined)
    return isBucketUrl(into)
      ? bucketWriter(bucketAt(into, settings), encoding)
      : folderWriter(into, encoding);
  if (out !== undefined && encoding !== jsonLines) return wholeFileWriter(out, encoding.encode);
  return out === undefined ? outputWriter : fileWriter(out);
}

function selectionOf(words: readonly string[], { style = 'individual', discount }: ExportFlags): Selection {
  const known = styles.find((name) => name === style);
  if (known === undefined)
    throw new UsageError(`--style must be one of ${styles.join(', ')}, not '${style}'`);
  const factor = discount === undefined ? undefined : Number(discount);
  if (discount?.trim() === '' || (factor !== undefined && !(factor >= 0 && factor <= 1)))
    throw new UsageError(`--discount must be a number from 0 to 1, not '${discount}'`);
  return { sessions: new Set(words), style: known, discount: factor };
}

/** Resolves to the exit code. */
async function copySessions(
  log: EventLog,
  selection: Selection,
  writer: LineWriter,
  { follow, stop }: { readonly follow: boolean; readonly stop: AbortController },
): Promise<number> {
  const index = new SessionIndex();
  const target = { writer, signal: stop.signal };
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
      { signal: stop.signal, wants: indexedTypes },
    ),
  );
  const done = Promise.all(followings.map((following) => following.done));
  done.catch(() => stop.abort()); // the rejection surfaces where `done` is awaited
  try {
    await Promise.race([Promise.all(followings.map(({ caughtUp }) => caughtUp)), done]);
    if (stop.signal.aborted) return INTERRUPTED;
    const ended = wanted(index.takeEnded(), selection);
    if (!follow) refuseMissing(selection, ended, index.open());
    const left = selection.sessions.size === 0 && !follow ? index.open().length : 0;
    printCounts(await copyAll(log, ended, selection, target), left);
    if (stop.signal.aborted) return INTERRUPTED;
    await writer.ready();
    const missing = new Set(selection.sessions);
    for (const { session } of ended) missing.delete(session);
    while (follow && !stop.signal.aborted && (selection.sessions.size === 0 || missing.size > 0)) {
      await woken.promise;
      woken = Promise.withResolvers<void>();
      const more = wanted(index.takeEnded(), selection);
      if (more.length > 0) printCounts(await copyAll(log, more, selection, target), 0);
      for (const { session } of more) missing.delete(session);
    }
    return 0;
  } finally {
    stop.abort();
    await done;
  }
}

const wanted = (ended: readonly EndedSession[], { sessions }: Selection) =>
  ended.filter(({ session }) => sessions.size === 0 || sessions.has(session));

type Counts = Readonly<
  Record<'sessions' | 'lines' | 'leftOut' | 'withSecrets' | 'discarded' | 'before', number>
>;

type Target = { readonly writer: LineWriter; readonly signal: AbortSignal };

async function copyAll(
  log: Pick<EventLog, 'read'>,
  ended: readonly EndedSession[],
  selection: Selection,
  { writer, signal }: Target,
): Promise<Counts> {
  const kept = ended.filter(({ discarded }) => !discarded);
  const discarded = ended.length - kept.length;
  const counts = { sessions: 0, lines: 0, leftOut: 0, withSecrets: 0, discarded, before: 0 };
  for (const session of kept) {
    if (signal.aborted) break;
    if (await writer.isWritten(session.session)) {
      counts.before += 1;
      continue;
    }
    const { lines, leftOut, withSecrets } = await linesOf(log, session, selection);
    await writer.write(lines, session.session);
    counts.sessions += 1;
    counts.lines += lines.length;
    counts.leftOut += leftOut;
    counts.withSecrets += withSecrets;
  }
  return counts;
}

function refuseMissing(
  { sessions }: Selection,
  ended: readonly EndedSession[],
  open: readonly string[],
): void {
  for (const session of sessions) {
    const ends = ended.filter((candidate) => candidate.session === session);
    if (ends.some(({ discarded }) => !discarded)) continue;
    if (ends.length > 0) throw new UsageError(`${session} was discarded by its client`);
    throw new UsageError(
      open.includes(session)
        ? `${session} is still open: end it first, or wait with --follow`
        : `no rewarded session '${session}'; see clawloop sessions list`,
    );
  }
}

async function linesOf(log: Pick<EventLog, 'read'>, session: EndedSession, { style, discount }: Selection) {
  const bodies: InteractionCompleted['data'][] = [];
  for (const { at } of session.turns)
    bodies.push(((await log.read('conversations', at)) as InteractionCompleted).data);
  const nodes = sessionNodes(session, bodies, discount);
  if (style === 'atif') return exportTrajectories(session, nodes);
  if (style === 'hf') return exportHfRows(session, nodes);
  const settled = session.turns.find(({ earned }) => earned !== undefined)?.earned?.return?.discount ?? 1;
  return exportLines(session, nodes, style, discount ?? settled);
}

/** Prints to the error stream, because the lines may go to standard output. */
function printCounts(counts: Counts, open: number): void {
  const { sessions, lines, leftOut, withSecrets, discarded, before } = counts;
  const report = [`${many(sessions, 'session')} in ${many(lines, 'line')}`];
  if (before > 0) report.push(`already exported: ${many(before, 'session')}`);
  if (open > 0) report.push(`left out: ${many(open, 'session')} still open`);
  if (discarded > 0) report.push(`left out: ${many(discarded, 'session')} discarded by the client`);
  if (leftOut > 0)
    report.push(`left out: ${many(leftOut, 'answer')} cut off, deleted, withdrawn or without token ids`);
  if (withSecrets > 0)
    report.push(`left out: ${many(withSecrets, 'answer')} with a secret in the prompt or the answer`);
  console.error(report.join('\n'));
}

const many = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
