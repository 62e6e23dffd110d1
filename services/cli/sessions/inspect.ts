import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { excerpt } from '../../../shared/runtime/table.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { describeDisagreement, describeStage, describeVerdict } from '../../../shared/views/describe-turn.ts';
import type { InspectedBatch, InspectedTurn, Inspection } from './inspection.ts';
import { readInspection } from './read-inspection.ts';

const WIDTH = 160;

/**
 * Prints all that the log says about one session: turns, votes, verdicts, samples, batches and versions.
 * @throws UsageError when the log has no such session
 */
export async function inspect(
  settings: CliConfig,
  words: readonly string[],
  flags: { readonly json?: boolean | undefined; readonly records?: boolean | undefined },
): Promise<number> {
  const [session, ...more] = words;
  if (session === undefined || more.length > 0)
    throw new UsageError('give the name of one session; see clawloop sessions list');
  const { snapshots: folder } = dataFolder(settings.dataFolder);
  const inspection = await withLog(settings, (log) => readInspection({ log, folder }, session));
  if (inspection.turns.length === 0 && inspection.ends.length === 0 && inspection.task === undefined)
    throw new UsageError(`no session '${session}'; see clawloop sessions list`);
  const lines = flags.json
    ? [JSON.stringify(concealed(inspection))]
    : describe(inspection, flags.records === true);
  for (const line of lines) console.log(line);
  return 0;
}

/** Secrets must not appear on a terminal either. */
const concealed = (inspection: Inspection): Inspection => ({
  ...inspection,
  turns: inspection.turns.map(({ turn, hints, votes, ...rest }) => ({
    ...rest,
    turn: {
      ...turn,
      asked: withoutSecrets(turn.asked),
      answered: withoutSecrets(turn.answered),
      reaction: withoutSecrets(turn.reaction),
    },
    hints: hints.map(withoutSecrets),
    votes: votes.map((vote) =>
      vote.hint === undefined ? vote : { ...vote, hint: withoutSecrets(vote.hint) },
    ),
  })),
});

/** The lines of the view. `records`: with the place of every event. */
export function describe(given: Inspection, records: boolean): readonly string[] {
  const { session, task, ends, turns, batches, heads } = concealed(given);
  return [
    `session   ${session}`,
    ...(task === undefined ? [] : [`task      ${task}`]),
    ...ends.map((end) => `          ${end}`),
    ...turns.flatMap((turn, index) => ['', ...turnLines(turn, index + 1, records)]),
    '',
    ...(batches.length === 0 ? ['no sample of it is in a batch'] : batches.flatMap(batchLines)),
    ...Object.entries(heads).map(([adapter, head]) => `head      ${adapter}: v${head} answers now`),
  ];
}

function turnLines(
  { turn, votes, hints, samples, records: places }: InspectedTurn,
  number: number,
  records: boolean,
): readonly string[] {
  const rule = [turn.rule, describeDisagreement(turn)].filter(Boolean).join(': ');
  return [
    `turn ${number}    ${turn.turnId}, v${turn.version}, ${turn.time}${rule === '' ? '' : `, ${rule}`}`,
    `  request   ${excerpt(turn.asked, WIDTH)}`,
    `  answer    ${excerpt(turn.answered, WIDTH)}`,
    ...(turn.reaction === '' ? [] : [`  reaction  ${excerpt(turn.reaction, WIDTH)}`]),
    ...votes.map(
      ({ vote, judge, hint }) =>
        `  vote      ${vote} by ${judge}${hint === undefined ? '' : `: ${excerpt(hint, WIDTH)}`}`,
    ),
    `  verdict   ${describeVerdict(turn)}`,
    ...hints.map((hint) => `  hint      ${excerpt(hint, WIDTH)}`),
    ...samples.map(
      ({ id, result, batchId }) =>
        `  sample    ${id === turn.turnId ? '' : `${id}: `}${result}${batchId === undefined ? '' : `, in ${batchId}`}`,
    ),
    `  outcome   ${describeStage(turn.stage)}`,
    ...(records ? places.map((place) => `  record    ${place}`) : []),
  ];
}

function batchLines({ batchId, version, own }: InspectedBatch): readonly string[] {
  const { metrics, milliseconds, detail } = version;
  const figures = ['loss', 'klToBase', 'verdict'].flatMap((name) =>
    metrics[name] === undefined ? [] : [`${name} ${Number(metrics[name].toPrecision(3))}`],
  );
  const step = milliseconds === 0 ? [] : [`${(milliseconds / 1000).toFixed(1)} s`];
  return [
    `batch     ${batchId}: ${own} of its ${version.samples} samples, on v${version.parent}`,
    `  version   v${version.version} ${[version.state + (detail === '' ? '' : ` (${detail})`), ...step, ...figures].join(', ')}`,
  ];
}
