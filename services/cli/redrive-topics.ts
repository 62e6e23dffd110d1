import { UsageError } from './command.ts';
import { readOptions, wholeNumber } from './options.ts';
import { placeOf, planRedrive, type Redrive } from './redrive.ts';
import { excerpt, formatTable } from './table.ts';
import { withLog } from './with-log.ts';

const options = {
  last: { type: 'string' },
  all: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const;

/**
 * `topics redrive`: puts dead letters that can be read now back into their topics, in the order in which they
 * were written, and says of each what became of it. @throws UsageError, LogUnavailable
 */
export async function redriveTopics(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, options);
  if (words.length > 0) throw new UsageError(`redrive takes no word '${words[0]}'`);
  if (values.last !== undefined && values.all) throw new UsageError('--last or --all, not both');
  const last = values.last === undefined ? undefined : wholeNumber(values.last, '--last');
  return withLog(settings, async (log) => {
    const plan = await planRedrive(log, last);
    if (plan.length === 0) {
      console.log('no dead letters');
      return 0;
    }
    const events = plan.flatMap((one) => (one.kind === 'append' ? [one.event] : []));
    // one by one: so they keep their order, and each is within what the log takes at once
    if (!values['dry-run']) for (const event of events) await log.append([event]);
    const outcome = values['dry-run'] ? 'would be put back' : 'put back';
    console.log(formatTable(['record', 'rejected by', 'event', 'outcome'], plan.map(rowWith(outcome))));
    console.log(`\n${events.length} of ${plan.length} ${outcome}`);
    return 0;
  });
}

const rowWith = (outcome: string) => (one: Redrive) => [
  placeOf(one.letter),
  one.letter.data.group,
  one.kind === 'left' ? '' : `${one.event.type} ${excerpt(one.event.id, 60)}`,
  one.kind === 'append' ? outcome : one.kind === 'stands' ? 'stands there already' : `left: ${one.why}`,
];
