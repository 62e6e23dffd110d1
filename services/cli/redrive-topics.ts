import { withLog } from '../../clients/with-log.ts';
import { placeOf, planRedrive, type Redrive } from '../../shared/log/redrive.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { excerpt, formatTable } from '../../shared/runtime/table.ts';
import { readOptions, wholeNumber } from './options.ts';

const options = {
  last: { type: 'string' },
  all: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const;

/**
 * `topics redrive`: puts dead letters that can be read now back into their topics, in the order in which they
 * were written, and reports the outcome of each. @throws UsageError, LogUnavailable
 */
export async function redriveTopics(argv: readonly string[]): Promise<number> {
  const { values, settings } = readOptions(argv, options);
  if (values.last !== undefined && values.all) throw new UsageError('give --last or --all, not both');
  const last = values.last === undefined ? undefined : wholeNumber(values.last, '--last');
  return withLog(settings, async (log) => {
    const plan = await planRedrive(log, last);
    if (plan.length === 0) {
      console.log('no dead letters');
      return 0;
    }
    const events = plan.flatMap((redrive) => (redrive.kind === 'append' ? [redrive.event] : []));
    // one at a time keeps the order, and each append within the log's size limit
    if (!values['dry-run']) for (const event of events) await log.append([event]);
    const outcome = values['dry-run'] ? 'would be put back' : 'put back';
    console.log(formatTable(['record', 'rejected by', 'event', 'outcome'], plan.map(rowWith(outcome))));
    console.log(`\n${events.length} of ${plan.length} ${outcome}`);
    return 0;
  });
}

const rowWith = (outcome: string) => (redrive: Redrive) => [
  placeOf(redrive.letter),
  redrive.letter.data.group,
  redrive.kind === 'left' ? '' : `${redrive.event.type} ${excerpt(redrive.event.id, 60)}`,
  redrive.kind === 'append'
    ? outcome
    : redrive.kind === 'stands'
      ? 'already put back'
      : `not put back: ${redrive.why}`,
];
