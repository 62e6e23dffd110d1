// npm run demo [-- --seeds 5 --sessions 32 --kill --brokers --svg curve.svg]: a person with a taste, with learning and
// without. --brokers: on a separate Kafka and Redis instead of the embedded log.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readFlags } from '../../bench/read-flags.ts';
import { startBrokers } from './brokers.ts';
import { drawCurve } from './curve.ts';
import { HELD_OUT_PROMPTS } from './evaluate.ts';
import type { Latency } from './latency.ts';
import { runSeed, type SeedReport } from './run-seed.ts';
import { judgeRun } from './verdict.ts';

const { values } = readFlags('npm run demo -- ...: a person with a taste, with learning and without', {
  options: {
    seeds: { type: 'string', default: '1' },
    'first-seed': { type: 'string', default: '1' },
    sessions: { type: 'string', default: '32' },
    kill: { type: 'boolean', default: false },
    brokers: { type: 'boolean', default: false },
    svg: { type: 'string', default: '.clawloop/demo.svg' },
    json: { type: 'string' },
    backend: { type: 'string', default: 'auto' },
  },
});
const sessions = Number(values.sessions);
const first = Number(values['first-seed']);
const reports: SeedReport[] = [];

console.log(
  `A person who wants no lists and no greeting chats ${sessions} times and reacts only in words.\n` +
    `After each new version, ${HELD_OUT_PROMPTS} held-out prompts are answered by it and checked for the taste.\n`,
);
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  for (const learning of [true, false]) {
    const started = performance.now();
    const brokers = values.brokers ? await startBrokers() : undefined;
    console.log(
      `seed ${seed}, ${learning ? 'with learning' : 'learning paused'}${values.brokers ? ', on Kafka and Redis' : ''}`,
    );
    let broker = '';
    const report = await runSeed({
      seed,
      sessions,
      learning,
      kill: values.kill && learning,
      backend: values.backend,
      print: (line) => console.log(line),
      atEnd: async () => {
        broker = (await brokers?.report()) ?? '';
      },
    }).finally(() => brokers?.stop());
    reports.push(report);
    printReport(report, (performance.now() - started) / 1000, broker);
  }
}
await mkdir(dirname(values.svg), { recursive: true });
await writeFile(values.svg, drawCurve(reports, sessions));
if (values.json !== undefined) await writeFile(values.json, JSON.stringify(reports, null, 1));
const { lines, passed } = judgeRun(reports);
for (const line of lines) console.log(line);
console.log(`curve: ${values.svg}`);
process.exitCode = passed ? 0 : 1;

function printReport(report: SeedReport, seconds: number, brokers: string): void {
  const { points, sessionsUntilThree, versions, failures, mixed, audit, replay } = report;
  console.log(
    `  share ${points[0]?.met.toFixed(2)} -> ${points.at(-1)?.met.toFixed(2)}, versions served: ${versions}`,
  );
  console.log(`  three first replies in a row met it after ${sessionsUntilThree ?? 'no number of'} sessions`);
  console.log(
    `  failed requests: ${failures}, answers of mixed versions: ${mixed}; ${Math.round(seconds)} s`,
  );
  if (report.learning) console.log(`${latencyTable(report.latency)}\n  audit: ${audit}   replay: ${replay}`);
  if (brokers !== '') console.log(brokers.replace(/^/gm, '  '));
  console.log('');
}

function latencyTable(latency: Latency): string {
  const row = (
    name: string,
    { streams, firstTokenMedian, firstTokenWorst, gapMedian, gapWorst }: Latency['alone'],
  ) =>
    `  ${name.padEnd(14)} ${String(streams).padStart(4)} streams   first token ${firstTokenMedian.toFixed(0)} ms (worst ` +
    `${firstTokenWorst.toFixed(0)})   longest gap ${gapMedian.toFixed(0)} ms (worst ${gapWorst.toFixed(0)})`;
  return [
    row('nothing else', latency.alone),
    row('during a step', latency.duringStep),
    row('around a swap', latency.aroundSwap),
  ].join('\n');
}
