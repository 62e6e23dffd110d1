import type { z } from 'zod';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { QueueConfig } from '../../../shared/config/queue.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { logExists } from '../../../shared/runtime/open-log.ts';
import { refuseForeignFolder } from '../../../shared/runtime/private-folder.ts';
import { onKafka } from '../backup/open-log-place.ts';
import type { Command } from '../command.ts';
import type { Request, Wish } from '../forget/find.ts';
import { dryRunOnSqlite, forgetOnSqlite } from '../forget/on-sqlite.ts';
import { ANY_WORDS, moreSettings, optionsOf, readOptions } from '../options.ts';

/** The Redis of the services, where answers are stored with Kafka. */
const RedisSettings = QueueConfig.omit({ boardKey: true });

export const forget: Command = {
  name: 'forget',
  usage:
    'SESSION|KEY|ID [--key KEY] [--reason TEXT] [--into-prefix NEW] [--dry-run] [--yes] | --delete-old --into-prefix NEW',
  about: "erase a person's words from the log and the data folder, while the services are stopped",
  details: [
    ['SESSION', 'a session, as clawloop turns list --json shows it'],
    ['KEY', 'the id of an access key: everything that came with it'],
    ['ID', 'an answer: its whole session, since later prompts repeat its words'],
    ['--key KEY', 'the access key of the session, if several have a session of this name'],
    ['--reason TEXT', 'why, recorded in the log'],
    ['--into-prefix NEW', 'with Kafka: prefix without topics, which gets the log without the words'],
    ['--delete-old', 'with Kafka: delete the topics of --kafka-prefix, after a proof that NEW has the log'],
    [
      '--queue redis',
      'with Kafka: the services use Redis; answers stored there go, too. Also --redis-url and others',
    ],
    ['--dry-run', 'show what would be erased; may run beside the services'],
    ['--yes', 'erase without confirmation'],
  ],
  run: async (argv) => {
    const { values, words, settings } = readOptions(
      argv,
      {
        ...optionsOf(RedisSettings as unknown as z.ZodObject),
        key: { type: 'string' },
        reason: { type: 'string' },
        'into-prefix': { type: 'string' },
        'delete-old': { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        yes: { type: 'boolean' },
      },
      ANY_WORDS,
    );
    const data = dataFolder(settings.dataFolder);
    const into = prefixOf(settings, values['into-prefix']);
    const wish: Wish = { reason: values.reason, isSure: values.yes ?? false };
    if (values['delete-old']) return deleteTopics(settings, { words, into }, wish);
    const [word, ...more] = words;
    if (word === undefined || word === '' || more.length > 0)
      throw new UsageError('give one session, access key or answer: forget SESSION|KEY|ID');
    // SQLite compacts through a copy, which must not fill another disk. Read when the first file is opened.
    process.env.SQLITE_TMPDIR = data.log;
    if (!logExists(settings, data))
      throw new UsageError(`no log in ${data.root}: start ClawLoop there first, or give --data-folder`);
    await refuseForeignFolder(data.root);
    const request: Request = { word, key: values.key };
    const isDry = values['dry-run'] ?? false;
    if (settings.log === 'sqlite')
      return isDry ? dryRunOnSqlite(data, request) : forgetOnSqlite({ settings, data }, request, wish);
    return onKafka(settings, data, async () => {
      const { dryRunOnKafka, forgetOnKafka } = await import('../forget/on-kafka.ts');
      const place = { settings, data, into, redis: moreSettings(RedisSettings, values) };
      return isDry ? dryRunOnKafka(place, request) : forgetOnKafka(place, request, wish);
    });
  },
};

/** @throws UsageError when the prefix is none, or the log needs none */
function prefixOf({ log }: CliConfig, prefix: string | undefined): string | undefined {
  if (prefix === undefined) return undefined;
  if (log === 'sqlite')
    throw new UsageError('--into-prefix is for --log kafka: the embedded log is rewritten');
  if (!/^[\w.-]+$/.test(prefix)) throw new UsageError('--into-prefix: use letters, digits, _, . and -');
  return prefix;
}

async function deleteTopics(
  settings: CliConfig,
  { words, into }: { readonly words: readonly string[]; readonly into: string | undefined },
  wish: Wish,
): Promise<number> {
  if (settings.log === 'sqlite') throw new UsageError('--delete-old is for --log kafka');
  if (into === undefined || words.length > 0)
    throw new UsageError(
      'forget --delete-old takes --into-prefix NEW, the prefix of the copy, and no selection',
    );
  const data = dataFolder(settings.dataFolder);
  return onKafka(settings, data, async () => {
    const { deleteOld } = await import('../forget/delete-old.ts');
    return deleteOld({ settings, data, into }, wish);
  });
}
