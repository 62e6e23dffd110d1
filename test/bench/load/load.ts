import { cpus, loadavg } from 'node:os';
import { type ServingFolder, servingFolder } from '../../e2e/serving-process.ts';
import { writeTables } from '../write-tables.ts';
import { cases, type LoadCase } from './case.ts';
import { processorMs, startEngine, startGenerator, startPassThrough } from './processes.ts';
import { lineOf, loadTable, type MeasuredCase, type Round } from './report.ts';

/** Serving marks every answer whose fact is durable. */
const RECORDED = '"recorded":true';
const WARM_UP_MS = 1_500;

/**
 * Serving under load, with each answer's fact durable in the embedded log before the end of the answer. The peer is a
 * bare Fastify that only forwards requests. Both alternate in short rounds, since the machine is shared. Engine,
 * pass-through, serving and load generator are separate processes. Checks that each answer has its fact. Writes its
 * table into docs/understand/benchmarks.md; takes four minutes.
 */
export async function benchLoad(asked = cases): Promise<readonly MeasuredCase[]> {
  const [start, load] = [performance.now(), loadavg()[0]!];
  const engine = await startEngine();
  const peer = await startPassThrough(engine.url);
  const generator = startGenerator();
  const folder = await servingFolder();
  const interrupted = Promise.withResolvers<never>();
  const onInterrupt = () => interrupted.reject(new Error('interrupted'));
  process.once('SIGINT', onInterrupt);
  try {
    const flags = ['--engine', 'upstream', '--upstream-url', `${engine.url}/v1`];
    const serving = await folder.start([...flags, '--max-concurrent-per-key', '1000']);
    let answers = 0;
    const measure = async (asked: LoadCase): Promise<MeasuredCase> => {
      await engine.setPace(asked.pace);
      const rounds: { readonly peer: Round[]; readonly serving: Round[] } = { peer: [], serving: [] };
      for (let round = 0; round < asked.rounds; round++) {
        for (const who of inTurns(round)) {
          const { url, pid } = who === 'peer' ? peer : serving;
          const before = await processorMs(pid);
          const taken = await generator.ask({ ...asked, url, mark: who === 'serving' ? RECORDED : '' });
          if (who === 'serving') answers += taken.answers;
          rounds[who].push({ ...taken, processorMs: (await processorMs(pid)) - before });
        }
      }
      return { asked, ...rounds };
    };
    const measureAll = async (): Promise<readonly MeasuredCase[]> => {
      for (const one of asked.filter(({ atOnce }) => atOnce === 16))
        await measure({ ...one, ms: WARM_UP_MS, rounds: 1 });
      const measured: MeasuredCase[] = [];
      for (const one of asked) {
        measured.push(await measure(one));
        console.log(lineOf(measured.at(-1)!));
      }
      return measured;
    };
    const measured = await Promise.race([measureAll(), interrupted.promise]);
    const recorded = { facts: await factsIn(folder), answers };
    if (recorded.facts !== answers) throw new Error(`${recorded.facts} facts of ${answers} answers`);
    const table = loadTable(measured, {
      machine: `${cpus().length} x ${cpus()[0]!.model}, Node ${process.versions.node}`,
      load: [load, loadavg()[0]!],
      minutes: (performance.now() - start) / 60_000,
      recorded,
    });
    console.log(`\n${table}\n`);
    if (asked === cases) await writeTables('load', table);
    return measured;
  } finally {
    process.off('SIGINT', onInterrupt);
    generator.stop();
    peer.stop();
    await folder.dispose();
    engine.stop();
  }
}

/** The order of the servers is reversed in every round. */
const inTurns = (round: number): readonly ('peer' | 'serving')[] =>
  round % 2 === 0 ? ['peer', 'serving'] : ['serving', 'peer'];

async function factsIn(folder: ServingFolder): Promise<number> {
  const log = await folder.openLog();
  return (await log.ends('conversations')).reduce((sum, end) => sum + end, 0);
}
