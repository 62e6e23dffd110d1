import { adapterName } from '../../../shared/config/common.ts';
import type { AccessKey, KeyLimits } from '../../../shared/runtime/access-keys.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { dataFolder as layout } from '../../../shared/runtime/data-folder.ts';
import { makeFolder } from '../../../shared/runtime/make-folder.ts';
import { type CommandKeys, openKeys } from '../../../shared/runtime/open-keys.ts';
import { refuseForeignFolder } from '../../../shared/runtime/private-folder.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import type { Command } from '../command.ts';
import { momentAhead } from '../moment.ts';
import { readOptions, splitAction, wholeNumber } from '../options.ts';

const limitFlags = {
  requestsPerMinute: 'requests-per-minute',
  tokensPerMinute: 'tokens-per-minute',
  tokensPerDay: 'tokens-per-day',
} as const satisfies Readonly<Record<keyof KeyLimits, string>>;

const options = {
  'only-adapter': { type: 'string' },
  operator: { type: 'boolean' },
  expires: { type: 'string' },
  'requests-per-minute': { type: 'string' },
  'tokens-per-minute': { type: 'string' },
  'tokens-per-day': { type: 'string' },
} as const;

export const keys: Command = {
  name: 'keys',
  usage: 'list | create NAME | remove ID | reset-secret',
  about: 'access keys of the endpoint; once there is one, every request needs a key',
  details: [
    ['list', 'show id, name, limits and dates of each key; secrets are not stored'],
    ['create NAME', 'create a key and show it once; NAME says who or what it is for'],
    ['remove ID', 'revoke a key'],
    ['reset-secret', 'with Kafka: let the next serving that starts set the session secret of all'],
    ['--requests-per-minute N', 'limit on requests for answers'],
    ['--tokens-per-minute N', 'limit on tokens of prompts and answers; --tokens-per-day N too'],
    ['--only-adapter A', 'restrict the key to this adapter'],
    ['--operator', 'the key may also use the console: see what everybody said, change what is served'],
    ['--expires T', 'expiry: a time span from now (90d, 12h) or an ISO time'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    const { words, values, settings } = readOptions(rest, options, action === 'list' ? 0 : 1);
    const [word = ''] = words;
    if (!isAction(action))
      throw new UsageError(`unknown action '${action}'; one of: ${Object.keys(actions).join(', ')}`);
    const act = actions[action](word, values);
    const data = layout(settings.dataFolder);
    if (action === 'create') {
      await refuseForeignFolder(data.root);
      await makeFolder(data.root);
    }
    const store = await openKeys(settings, data, (text) => console.error(text));
    try {
      await act(store);
      return 0;
    } finally {
      await store.close();
    }
  },
};

type Values = ReturnType<typeof readOptions<typeof options>>['values'];
/** Checks the words and options at once; the result acts on the keys. */
type Action = (word: string, values: Values) => (keys: CommandKeys) => Promise<void>;

const actions = {
  list: () => async (store) => {
    const rows = (await store.list()).map((key) => [
      key.id,
      key.name,
      key.adapter ?? 'any',
      key.operator === true ? 'operator' : '',
      limitsOf(key),
      key.createdAt,
      expiryOf(key),
    ]);
    console.log(formatTable(['id', 'name', 'adapter', 'role', 'limits', 'created', 'expires'], rows));
  },
  create: (name, values) => {
    if (name.trim() === '') throw new UsageError('give a name: keys create NAME');
    if (values.operator === true && values['only-adapter'] !== undefined)
      throw new UsageError('an operator sees every adapter: give --operator or --only-adapter, not both');
    const rules = {
      ...limitsIn(values),
      ...adapterIn(values['only-adapter']),
      ...expiryIn(values.expires, Date.now()),
      ...(values.operator === true ? { operator: true } : {}),
    };
    return async (store) => {
      const isFirst = (await store.list()).length === 0;
      const { id, secret } = await store.create(name, rules);
      console.log(
        `${secret}\n\nThe key is shown only now. ${store.place} stores its hash under the id ${id}.`,
      );
      if (isFirst) console.log('From now on, serving refuses requests without a key.');
    };
  },
  remove: (id) => {
    if (id === '') throw new UsageError('give an id: keys remove ID');
    return async (store) => {
      if (!(await store.remove(id))) throw new UsageError(`no key has the id ${id}; see clawloop keys list`);
      const left = (await store.list()).length;
      console.log(
        `removed${left > 0 ? '' : '; no key is left, so on loopback every user of this machine has access'}`,
      );
    };
  },
  'reset-secret': () => async (store) => {
    if (store.resetSecret === undefined)
      throw new UsageError(
        'the session secret is a file in the data folder; remove it while serving is stopped',
      );
    await store.resetSecret();
    console.log(
      'reset: the next serving that starts sets the session secret; then restart all other servings with the same secret',
    );
  },
} as const satisfies Readonly<Record<string, Action>>;

const isAction = (action: string): action is keyof typeof actions => Object.hasOwn(actions, action);

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

/** The adapter need not be served yet, but its name must be valid, or the key would be useless. */
function adapterIn(adapter: string | undefined): Pick<AccessKey, 'adapter'> {
  if (adapter === undefined) return {};
  const parsed = adapterName.safeParse(adapter);
  if (!parsed.success) throw new UsageError(`--only-adapter ${adapter}: ${parsed.error.issues[0]!.message}`);
  return { adapter };
}

function expiryIn(text: string | undefined, now: number): Pick<AccessKey, 'expiresAt'> {
  if (text === undefined) return {};
  const moment = momentAhead(text, '--expires', now);
  if (moment > Date.UTC(9999, 0)) throw new UsageError(`--expires ${text} is too far in the future`);
  if (moment <= now) throw new UsageError(`--expires ${text} is in the past`);
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
