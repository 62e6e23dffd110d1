import { UsageError } from './command.ts';
import { groups } from './create-topics.ts';
import { readOptions } from './options.ts';
import { formatTable } from './table.ts';
import { withLog } from './with-log.ts';

/**
 * `topics repair`: sets groups back to what is there, where the log lost records that they had read. Services
 * may run meanwhile, and go on by themselves. @throws UsageError, LogUnavailable
 */
export async function repairTopics(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, { 'dry-run': { type: 'boolean' } });
  if (words.length > 0) throw new UsageError(`repair takes no word '${words[0]}'`);
  const dryRun = values['dry-run'] ?? false;
  return withLog(settings, async (log) => {
    const found = (
      await Promise.all(groups.map(({ group, reads }) => log.repair(group, reads, { dryRun })))
    ).flat();
    if (found.length === 0) {
      console.log('no group has read a record that is lost');
      return 0;
    }
    const rows = found.map(({ group, topic, partition, from, to, why }) => [
      ...[group, `${topic}/${partition}`, from, to],
      why,
    ]);
    console.log(
      formatTable(['group', 'partition', 'stood at', dryRun ? 'would go to' : 'goes to', 'since'], rows),
    );
    return 0;
  });
}
