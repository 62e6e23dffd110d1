import { withLog } from '../../../clients/with-log.ts';
import { agesOf, sizesOf } from '../../../shared/retention/limits.ts';
import { planTrim, trimLog } from '../../../shared/retention/trim-log.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { megabytes } from '../../../shared/runtime/megabytes.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import type { Command } from '../command.ts';
import { readOptions } from '../options.ts';

export const trim: Command = {
  name: 'trim',
  usage: '[--keep AGES] [--keep-bytes SIZES] [--dry-run]',
  about: 'remove the oldest records of conversations and turns, except what is still needed',
  details: [
    ['--keep AGES', 'remove older records: 90d, or conversations=90d,turns=30d (s, m, h, d)'],
    ['--keep-bytes SIZES', 'remove the oldest above this size: 20gb, or turns=5gb (kb, mb, gb, tb)'],
    ['--dry-run', 'show what would be removed, without removing it'],
  ],
  run: async (argv) => {
    const { values, settings } = readOptions(argv, {
      keep: { type: 'string' },
      'keep-bytes': { type: 'string' },
      'dry-run': { type: 'boolean' },
    });
    const { keep = '', 'keep-bytes': keepBytes = '', 'dry-run': dryRun = false } = values;
    if (keep === '' && keepBytes === '') throw new UsageError('give --keep, --keep-bytes or both');
    if (keep !== '' && agesOf(keep) === undefined)
      throw new UsageError(`--keep takes 90d or conversations=90d,turns=30d, not '${keep}'`);
    if (keepBytes !== '' && sizesOf(keepBytes) === undefined)
      throw new UsageError(`--keep-bytes takes 20gb or conversations=20gb,turns=5gb, not '${keepBytes}'`);
    return withLog(settings, async (log) => {
      const limits = { keep, keepBytes, now: Date.now() };
      const cuts = dryRun
        ? await planTrim(log, limits)
        : await trimLog(log, { ...limits, source: 'clawloop/cli' });
      if (cuts.length === 0) {
        console.log('nothing to remove: all records are within the limits');
        return 0;
      }
      const rows = cuts.map(({ topic, partition, from, place, heldBy }) => [
        `${topic}/${partition}`,
        from,
        place?.offset ?? from,
        place === undefined ? '' : new Date(place.time).toISOString(),
        megabytes(place?.bytes ?? 0),
        heldBy ?? '',
      ]);
      const becomes = dryRun ? 'would begin at' : 'begins at';
      console.log(
        formatTable(['partition', 'began at', becomes, 'removed up to', 'size', 'more must stay'], rows),
      );
      return 0;
    });
  },
};
