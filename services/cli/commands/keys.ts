import { createAccessKey, readAccessKeys } from '../../../shared/service/access-keys.ts';
import { dataFolder as layout } from '../../../shared/service/data-folder.ts';
import { makeFolder } from '../../../shared/service/make-folder.ts';
import { type Command, UsageError } from '../command.ts';
import { readOptions, splitAction } from '../options.ts';
import { formatTable } from '../table.ts';

export const keys: Command = {
  name: 'keys',
  usage: 'list | create NAME',
  about: 'access keys of the endpoint; from the first one on, a key is needed',
  details: [
    ['list', 'id, name and date of each; secrets are not kept'],
    ['create NAME', 'makes one and shows it, this once'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    const { words, settings } = readOptions(rest, {});
    const data = layout(settings.dataFolder);
    if (action === 'list') {
      const known = await readAccessKeys(data.keys);
      const rows = known.map(({ id, name, createdAt }) => [id, name, createdAt]);
      console.log(formatTable(['id', 'name', 'created'], rows));
      return 0;
    }
    if (action !== 'create') throw new UsageError(`keys ${action}? one of: list, create`);
    const [name] = words;
    if (name === undefined) throw new UsageError('keys create NAME');
    await makeFolder(data.root);
    const { id, secret } = await createAccessKey(data.keys, name);
    console.log(
      `${secret}\n\nThis is the only time that it is shown; ${data.keys} holds its hash, under the id ${id}.`,
    );
    return 0;
  },
};
