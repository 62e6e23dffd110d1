import {
  type AccessKey,
  createAccessKey,
  type KeyLimits,
  readAccessKeys,
  removeAccessKey,
} from '../../../shared/service/access-keys.ts';
import { adapterName } from '../../../shared/service/config.ts';
import { dataFolder as layout } from '../../../shared/service/data-folder.ts';
import { makeFolder } from '../../../shared/service/make-folder.ts';
import { refuseForeignFolder } from '../../../shared/service/private-folder.ts';
import { type Command, UsageError } from '../command.ts';
import { momentAhead } from '../moment.ts';
import { readOptions, splitAction, wholeNumber } from '../options.ts';
import { formatTable } from '../table.ts';

const limitFlags = {
  requestsPerMinute: 'requests-per-minute',
  tokensPerMinute: 'tokens-per-minute',
  tokensPerDay: 'tokens-per-day',
} as const satisfies Readonly<Record<keyof KeyLimits, string>>;

const options = {
  'only-adapter': { type: 'string' },
  expires: { type: 'string' },
  'requests-per-minute': { type: 'string' },
  'tokens-per-minute': { type: 'string' },
  'tokens-per-day': { type: 'string' },
} as const;

export const keys: Command = {
  name: 'keys',
  usage: 'list | create NAME | remove ID',
  about: 'access keys of the endpoint; from the first one on, a key is needed',
  details: [
    ['list', 'id, name, limits and date of each; secrets are not kept'],
    ['create NAME', 'makes one and shows it, this once; NAME says whom or what it is for'],
    ['remove ID', 'it opens nothing from then on'],
    ['--requests-per-minute N', 'requests for answers that it may send'],
    ['--tokens-per-minute N', 'tokens of prompts and answers; --tokens-per-day N likewise'],
    ['--only-adapter A', 'talks to this adapter, and to no other'],
    ['--expires T', 'opens nothing from then on: 90d, 12h or an ISO time from now'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    const { words, values, settings } = readOptions(rest, options);
    const data = layout(settings.dataFolder);
    const [word] = words;
    switch (action) {
      case 'list': {
        const rows = (await readAccessKeys(data.keys)).map((key) => [
          ...[key.id, key.name, key.adapter ?? 'any', limitsOf(key), key.createdAt, expiryOf(key)],
        ]);
        console.log(formatTable(['id', 'name', 'adapter', 'limits', 'created', 'expires'], rows));
        return 0;
      }
      case 'create': {
        if (word === undefined || word.trim() === '') throw new UsageError('keys create NAME');
        const rules = {
          ...limitsIn(values),
          ...adapterIn(values['only-adapter']),
          ...expiryIn(values.expires, Date.now()),
        };
        await refuseForeignFolder(data.root);
        await makeFolder(data.root);
        const isFirst = (await readAccessKeys(data.keys)).length === 0;
        const { id, secret } = await createAccessKey(data.keys, word, rules);
        console.log(
          `${secret}\n\nThis is the only time that it is shown; ${data.keys} holds its hash, under the id ${id}.`,
        );
        if (isFirst) console.log('From now on serving answers nobody without a key.');
        return 0;
      }
      case 'remove': {
        if (word === undefined) throw new UsageError('keys remove ID');
        if (!(await removeAccessKey(data.keys, word)))
          throw new UsageError(`no key has the id ${word}; clawloop keys list shows them`);
        const left = (await readAccessKeys(data.keys)).length;
        console.log(
          `removed${left > 0 ? '' : '; none is left, so on loopback anybody on this machine is let in'}`,
        );
        return 0;
      }
      default:
        throw new UsageError(`keys ${action}? one of: list, create, remove`);
    }
  },
};

const limitKinds = Object.keys(limitFlags) as readonly (keyof KeyLimits)[];

function limitsIn(values: Readonly<Record<string, unknown>>): KeyLimits {
  const given = limitKinds.flatMap((kind) => {
    const value = values[limitFlags[kind]];
    if (typeof value !== 'string') return [];
    const flag = `--${limitFlags[kind]}`;
    const limit = wholeNumber(value, flag);
    if (limit < 1) throw new UsageError(`${flag} must be at least 1`);
    return [[kind, limit]];
  });
  return Object.fromEntries(given);
}

/** One that is not served yet may be some day; one that no adapter can be called would lock its user out. */
function adapterIn(adapter: string | undefined): Pick<AccessKey, 'adapter'> {
  if (adapter === undefined) return {};
  const named = adapterName.safeParse(adapter);
  if (!named.success) throw new UsageError(`--only-adapter ${adapter}? ${named.error.issues[0]!.message}`);
  return { adapter };
}

function expiryIn(text: string | undefined, now: number): Pick<AccessKey, 'expiresAt'> {
  if (text === undefined) return {};
  const moment = momentAhead(text, '--expires', now);
  if (moment > Date.UTC(9999, 0)) throw new UsageError(`--expires ${text} is too far away`);
  if (moment <= now) throw new UsageError(`--expires ${text} has passed already`);
  return { expiresAt: new Date(moment).toISOString() };
}

const expiryOf = ({ expiresAt }: AccessKey): string => {
  if (expiresAt === undefined) return 'never';
  return Date.parse(expiresAt) <= Date.now() ? `${expiresAt} (expired)` : expiresAt;
};

const limitsOf = (key: AccessKey): string =>
  limitKinds
    .filter((kind) => key[kind] !== undefined)
    .map((kind) => `${key[kind]} ${limitFlags[kind].replaceAll('-', ' ')}`)
    .join(', ');
