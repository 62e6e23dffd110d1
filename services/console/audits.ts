import { z } from 'zod';
import type { ConsoleConfig } from '../../shared/config/console.ts';
import { parseJson } from '../../shared/lang/json.ts';
import { utcNow } from '../../shared/runtime/clock.ts';
import { ConsoleError } from './errors.ts';
import { startCli } from './run-cli.ts';

const Report = z.object({
  counts: z.record(z.string(), z.number()),
  open: z.record(z.string(), z.number()),
  broken: z.array(z.string()),
  overdue: z.array(z.object({ what: z.string(), since: z.number() })),
});

export type AuditResult = {
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** undecided: something is overdue, or the log could not be read to its end */
  readonly outcome: 'running' | 'balances' | 'broken' | 'undecided' | 'failed';
  readonly violations: readonly string[];
  readonly overdue: readonly string[];
  readonly open: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
  /** why it could not be run */
  readonly error: string | null;
};

/** Lines that the page shows; the command shows all. */
const SHOWN = 50;

/** Runs `clawloop audit`, one at a time, and keeps the last result. */
export function createAudits(config: ConsoleConfig, stopping: AbortSignal) {
  let last: AuditResult | undefined;
  const start = (): AuditResult => {
    if (last?.outcome === 'running') throw ConsoleError.BUSY({ what: 'An audit' });
    const begun: AuditResult = {
      startedAt: utcNow(),
      endedAt: null,
      outcome: 'running',
      violations: [],
      overdue: [],
      open: {},
      counts: {},
      error: null,
    };
    last = begun;
    const child = startCli(['audit', '--json'], config);
    let [text, errors] = ['', ''];
    child.stdout!.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.stderr!.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2_000)));
    const stop = () => child.kill('SIGTERM');
    stopping.addEventListener('abort', stop);
    const end = (code: number | null, message: string) => {
      stopping.removeEventListener('abort', stop);
      last = { ...begun, endedAt: utcNow(), ...resultOf(text, code, message) };
    };
    child.once('error', (error) => end(null, error.message));
    child.once('close', (code) => last === begun && end(code, errors));
    return begun;
  };
  return { start, last: () => last };
}

/** Exit codes: 0 balances, 1 broken, 2 undecided. */
function resultOf(text: string, code: number | null, errors: string) {
  const report = Report.safeParse(parseJson(text)).data;
  if (report === undefined)
    return { outcome: code === 2 ? 'undecided' : 'failed', error: errors.trim() } as const;
  return {
    outcome: code === 0 ? 'balances' : code === 1 ? 'broken' : 'undecided',
    violations: report.broken.slice(0, SHOWN),
    overdue: report.overdue
      .slice(0, SHOWN)
      .map(({ what, since }) => `${what}, since ${new Date(since).toISOString()}`),
    open: report.open,
    counts: report.counts,
  } as const;
}
