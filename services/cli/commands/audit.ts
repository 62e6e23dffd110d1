import { createAudit } from '../audit/audit.ts';
import type { Command } from '../command.ts';
import { readOptions } from '../options.ts';
import { readAll } from '../read-topic.ts';
import { formatTable } from '../table.ts';
import { withLog } from '../with-log.ts';

export const audit: Command = {
  name: 'audit',
  usage: '[--json]',
  about: 'the conservation law, from the log alone; exit 1 when it is broken',
  details: [['--json', 'counts, what is open and what is broken, as one object']],
  run: async (argv) => {
    const { values, settings } = readOptions(argv, { json: { type: 'boolean' } });
    return withLog(settings, async (log) => {
      const ledger = createAudit();
      await readAll(log, ({ event }) => ledger.on(event));
      const { counts, open, broken } = ledger.report();
      if (values.json) {
        console.log(JSON.stringify({ logId: log.logId, counts, open, broken }, null, 2));
        return broken.length === 0 ? 0 : 1;
      }
      const rows = Object.entries(counts).map(([name, count]) => [name, count]);
      console.log(`log ${log.logId}, from its first record\n\n${formatTable(['', 'count'], rows)}\n`);
      for (const [what, count] of Object.entries(open))
        if (count > 0) console.log(`still open: ${count} ${what}`);
      for (const violation of broken) console.log(`BROKEN  ${violation}`);
      console.log(broken.length === 0 ? 'balances' : `${broken.length} violations`);
      return broken.length === 0 ? 0 : 1;
    });
  },
};
