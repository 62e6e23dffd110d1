import { exportSessions } from '../../../clients/export/export-sessions.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { Command } from '../command.ts';
import { ANY_WORDS, readOptions, splitAction } from '../options.ts';
import { inspect } from '../sessions/inspect.ts';
import { endSession, listOnServer, rewardSession, startSession } from '../sessions/protocol.ts';
import { listSessions, showSession } from '../sessions/shown.ts';

const protocolOptions = {
  url: { type: 'string' },
  key: { type: 'string' },
  json: { type: 'boolean' },
} as const;

const actions = ['list', 'show', 'inspect', 'start', 'reward', 'end', 'export'] as const;

export const sessions: Command = {
  name: 'sessions',
  usage: 'list|show|inspect|start|reward|end|export',
  about: 'list, show and inspect sessions; start, reward, end and export rewarded ones',
  details: [
    ['list', 'show every session: turns, trained turns, open or closed'],
    ['  --url URL, --key KEY', 'sessions that an access key opened, from the server instead of the log'],
    ['show SESSION', 'show its turns, step by step'],
    ['inspect SESSION', 'show its turns with votes, samples, batches and the versions that they made'],
    ['  --records', 'with the place of every event in the log'],
    ['start [--task NAME]', 'open a session and print its key'],
    [
      '  --refresh sk-sess-...',
      'end the open session of this key and start the next; default: the same task',
    ],
    [
      '  --model NAME',
      "model name that selects the adapter, such as clawloop:bob; default: the key's adapter",
    ],
    ['reward [VALUE]', 'reward the last answer of the session: -1 to 1, default 1'],
    ['  --interaction ID', 'reward another answer'],
    ['end [--discard]', 'end the session; with --discard, nothing of it trains'],
    ['end SESSION', 'end a session without its key, with the access key that opened it'],
    ['export [SESSION...]', 'export tokens, logprobs, versions and rewards of ended sessions, as JSONL'],
    ['  --style S', 'individual: one line per answer; concat: one line per path of the conversation tree'],
    [
      '',
      'atif: a trajectory per path, with texts; hf: prompt and completion per answer, for datasets and TRL',
    ],
    ['  --format F', 'jsonl, or parquet with --style hf; default jsonl'],
    ['  --discount N', "discount of returns, 0 to 1; default: the collector's"],
    ['  --out FILE', 'write to this file, all or nothing; default: standard output'],
    ['  --into FOLDER', 'write one file per session, SESSION.jsonl; existing files are kept'],
    ['  --into s3://BUCKET/PREFIX', 'the same as objects of a bucket'],
    ['  --follow', 'keep exporting sessions as they end'],
    ['--key KEY', 'list, start, end SESSION: access key; default: CLAWLOOP_SERVING_API_KEY'],
    ['', 'reward, end: key of the session; default: CLAWLOOP_SESSION_KEY'],
    ['--url URL', 'URL of the endpoint; default: the server of the data folder'],
    ['--json', 'list, inspect, start, reward, end: print JSON'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    switch (action) {
      case 'list': {
        const { settings, values } = readOptions(rest, protocolOptions);
        const isOnServer = values.url !== undefined || values.key !== undefined;
        return isOnServer
          ? listOnServer(flagsOf({ values, settings }))
          : listSessions(settings, values.json === true);
      }
      case 'show': {
        const { settings, words } = readOptions(rest, {}, 1);
        return showSession(settings, words[0]);
      }
      case 'inspect': {
        const switches = { json: { type: 'boolean' }, records: { type: 'boolean' } } as const;
        const { settings, words, values } = readOptions(rest, switches, ANY_WORDS);
        return inspect(settings, words, values);
      }
      case 'start': {
        const strings = {
          task: { type: 'string' },
          refresh: { type: 'string' },
          model: { type: 'string' },
        } as const;
        return startSession(flagsOf(readOptions(rest, { ...protocolOptions, ...strings })));
      }
      case 'reward': {
        const strings = { interaction: { type: 'string' } } as const;
        const options = readOptions(negativeLast(rest), { ...protocolOptions, ...strings }, 2);
        return rewardSession(options.words[0], flagsOf(options));
      }
      case 'end': {
        const switches = { discard: { type: 'boolean' } } as const;
        const options = readOptions(rest, { ...protocolOptions, ...switches }, 1);
        return endSession(options.words[0], flagsOf(options));
      }
      case 'export': {
        const strings = {
          style: { type: 'string' },
          format: { type: 'string' },
          discount: { type: 'string' },
          out: { type: 'string' },
          into: { type: 'string' },
        } as const;
        const { settings, words, values } = readOptions(
          rest,
          { ...strings, follow: { type: 'boolean' } },
          ANY_WORDS,
        );
        return exportSessions(settings, words, values);
      }
      default:
        throw new UsageError(`unknown action '${action}'; one of: ${actions.join(', ')}`);
    }
  },
};

type Options<Values> = { readonly values: Values; readonly settings: Pick<CliConfig, 'dataFolder'> };

const flagsOf = <Values>({ values, settings }: Options<Values>) => ({
  ...values,
  dataFolder: settings.dataFolder,
});

/** Moves negative numbers behind `--`: `-0.5` is a reward, not a flag. */
function negativeLast(words: readonly string[]): readonly string[] {
  const isNegative = (word: string) => /^-[\d.]/.test(word);
  const numbers = words.filter(isNegative);
  return numbers.length === 0 ? words : [...words.filter((word) => !isNegative(word)), '--', ...numbers];
}
