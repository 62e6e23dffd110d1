import { type Command, UsageError } from '../command.ts';
import type { CliConfig } from '../config.ts';
import { readOptions, splitAction } from '../options.ts';
import { endSession, listOnServer, rewardSession, startSession } from '../sessions/protocol.ts';
import { listSessions, showSession } from '../sessions/shown.ts';
import { exportSessions } from '../sessions-export/export-sessions.ts';

const protocolOptions = {
  url: { type: 'string' },
  key: { type: 'string' },
  json: { type: 'boolean' },
} as const;

const actions = ['list', 'show', 'start', 'reward', 'end', 'export'] as const;

export const sessions: Command = {
  name: 'sessions',
  usage: 'list|show|start|reward|end|export',
  about: 'conversations as the collector sees them; sessions that a program rewards',
  details: [
    ['list', 'every conversation: turns, how many trained, whether it is open'],
    ['  --url URL, --key KEY', 'those that an access key opened, as the server has them; no log is read'],
    ['show SESSION', 'its turns, step by step'],
    ['start [--task NAME]', 'opens a session and prints its key'],
    ['  --refresh sk-sess-...', 'under this key, whose open session ends; the same task unless told'],
    ['  --model NAME', 'of whose adapter: clawloop:bob; that of the key unless told'],
    ['reward [VALUE]', '-1 to 1, 1 unless told, for the last answer of the session'],
    ['  --interaction ID', 'for another answer'],
    ['end [--discard]', 'ends the session; --discard: and it trains nobody'],
    ['end SESSION', 'one whose key is lost, by the access key that opened it'],
    [
      'export [SESSION...]',
      'tokens, log-probs, versions and rewards of rewarded sessions that ended, as JSONL',
    ],
    ['  --style S', 'individual: a line per answer; concat: one per path of the conversation tree'],
    ['  --discount N', '0 to 1: of the returns; as the collector has it unless told'],
    ['  --out FILE', 'whole or not at all; the output unless told'],
    ['  --into FOLDER', 'a file per session, SESSION.jsonl; one that is there is not written again'],
    ['  --follow', 'goes on with each session that ends'],
    ['--key KEY', 'list, start, end SESSION: access key; CLAWLOOP_SERVING_API_KEY unless told'],
    ['', 'reward, end: key of the session; CLAWLOOP_SESSION_KEY unless told'],
    ['--url URL', 'of the endpoint; where the one of the data folder listens unless told'],
    ['--json', 'list, start, reward, end: one object'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    switch (action) {
      case 'list': {
        const { settings, values } = readOptions(rest, protocolOptions);
        const isThere = values.url !== undefined || values.key !== undefined;
        return isThere
          ? listOnServer(flagsOf({ values, settings }))
          : listSessions(settings, values.json === true);
      }
      case 'show': {
        const { settings, words } = readOptions(rest, {});
        return showSession(settings, words[0]);
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
        const options = readOptions(negativeLast(rest), { ...protocolOptions, ...strings });
        return rewardSession(options.words[0], flagsOf(options));
      }
      case 'end': {
        const switches = { discard: { type: 'boolean' } } as const;
        const options = readOptions(rest, { ...protocolOptions, ...switches });
        return endSession(options.words[0], flagsOf(options));
      }
      case 'export': {
        const strings = {
          style: { type: 'string' },
          discount: { type: 'string' },
          out: { type: 'string' },
          into: { type: 'string' },
        } as const;
        const { settings, words, values } = readOptions(rest, { ...strings, follow: { type: 'boolean' } });
        return exportSessions(settings, words, values);
      }
      default:
        throw new UsageError(`sessions ${action}? one of: ${actions.join(', ')}`);
    }
  },
};

type Options<Values> = { readonly values: Values; readonly settings: Pick<CliConfig, 'dataFolder'> };

const flagsOf = <Values>({ values, settings }: Options<Values>) => ({
  ...values,
  dataFolder: settings.dataFolder,
});

/** `-0.5` is a reward, no flag. */
function negativeLast(words: readonly string[]): readonly string[] {
  const isNegative = (word: string) => /^-[\d.]/.test(word);
  const numbers = words.filter(isNegative);
  return numbers.length === 0 ? words : [...words.filter((word) => !isNegative(word)), '--', ...numbers];
}
