import { withLog } from '../../../clients/with-log.ts';
import { CliConfig } from '../../../shared/config/cli.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { INTERRUPTED, stopOnSignals } from '../../../shared/runtime/stop-on-signals.ts';
import { visibleLine } from '../../../shared/runtime/terminal.ts';
import type { Command } from '../command.ts';
import { startTemporaryServer } from '../demo/temporary-server.ts';
import { runDry, StageFailed } from '../dry-run/run-dry.ts';
import { splitAction } from '../options.ts';
import { routeFlags } from '../up/route-flags.ts';

const DEFAULT_WAIT_S = 600;
/** A dry run has a folder, a log and a port of its own. */
const OWN =
  /^--(?:data-folder|log|kafka-[a-z-]+|port|host|sessions-export|(?:serving-)?api-key(?:-file)?)(?:=|$)/;

export const test: Command = {
  name: 'test',
  usage: 'rollout [--FLAG VALUE ...]',
  about: 'try one conversation through every stage, with your settings; nothing is kept',
  details: [
    ['rollout', 'start all services on a temporary folder, chat, react, train on it, and show each stage'],
    ['--wait S', `seconds to wait for the last stage; default ${DEFAULT_WAIT_S}`],
    [
      '--FLAG VALUE',
      'flags of clawloop up, such as --model or --judge-kind; not those of folder, log and port',
    ],
    ['', 'exit code 0: every stage gave a result; 1: a stage failed'],
  ],
  outlivesReader: true,
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'rollout');
    if (action !== 'rollout') throw new UsageError(`unknown action '${action}'; one of: rollout`);
    const { seconds, flags } = readFlags(rest);
    const stop = new AbortController();
    const ignoreSignals = stopOnSignals(stop, 'stopping the temporary server');
    const began = monotonicNow();
    const print = (name: string, result: string) =>
      console.log(
        `${((monotonicNow() - began) / 1000).toFixed(1).padStart(6)} s  ${name.padEnd(9)} ${visibleLine(result)}`,
      );
    try {
      print('server', 'starting all services on a temporary folder');
      const server = await startTemporaryServer(stop.signal, ['--collector-batch-size', '1', ...flags]);
      const late = setTimeout(
        () => stop.abort(new StageFailed(`no further stage within ${seconds} s; --wait gives it more time`)),
        seconds * 1000,
      );
      try {
        print('server', `ready at ${server.url}`);
        const settings = CliConfig.parse({ dataFolder: server.dataFolder });
        await withLog(settings, (log) =>
          runDry({
            url: server.url,
            log,
            print: ({ name, result }) => print(name, result),
            signal: stop.signal,
          }),
        );
      } finally {
        clearTimeout(late);
        await server.stop();
      }
      print('server', 'stopped; nothing is kept');
      return 0;
    } catch (error) {
      const cause: unknown = stop.signal.aborted ? stop.signal.reason : error;
      if (cause instanceof StageFailed) {
        console.error(cause.message);
        return 1;
      }
      if (stop.signal.aborted) return INTERRUPTED;
      throw error;
    } finally {
      ignoreSignals();
    }
  },
};

/** @throws UsageError */
function readFlags(argv: readonly string[]): { readonly seconds: number; readonly flags: readonly string[] } {
  const at = argv.indexOf('--wait');
  const seconds = at === -1 ? DEFAULT_WAIT_S : Number(argv[at + 1] ?? '');
  if (!(seconds > 0 && seconds <= 86_400))
    throw new UsageError(`--wait must be a number of seconds, not '${argv[at + 1] ?? ''}'`);
  const flags = at === -1 ? argv : argv.toSpliced(at, 2);
  const own = flags.find((word) => OWN.test(word));
  if (own !== undefined) throw new UsageError(`a dry run keeps nothing, so it takes no ${own.split('=')[0]}`);
  routeFlags(flags); // refuses unknown flags before anything starts
  return { seconds, flags };
}
