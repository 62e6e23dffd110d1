import { withLog } from '../../clients/with-log.ts';
import { formatTable } from '../../shared/runtime/table.ts';
import { groups } from './create-topics.ts';
import { readOptions } from './options.ts';

/**
 * `topics repair`: resets the offsets of groups that have read records which the log has lost. Services can keep
 * running, and continue without a restart.
 * @throws UsageError, LogUnavailable
 */
export async function repairTopics(argv: readonly string[]): Promise<number> {
  const { values, settings } = readOptions(argv, { 'dry-run': { type: 'boolean' } });
  const dryRun = values['dry-run'] ?? false;
  return withLog(settings, async (log) => {
    const repairs = (
      await Promise.all(groups.map(({ group, reads }) => log.repair(group, reads, { dryRun })))
    ).flat();
    if (repairs.length === 0) {
      console.log('nothing to repair: no group has read a lost record');
      return 0;
    }
    const rows = repairs.map(({ group, topic, partition, from, to, why }) => [
      group,
      `${topic}/${partition}`,
      from,
      to,
      why,
    ]);
    console.log(
      formatTable(['group', 'partition', 'offset', dryRun ? 'would become' : 'is now', 'reason'], rows),
    );
    return 0;
  });
}
