// npm run bench:people [-- --people direct,German --seeds 1,2 --sessions 30 --quick]: scripted people, each with a
// control that does not learn. It measures what ClawLoop recognises and learns. Requests go through HTTP; with --quick
// the loop of the learning curves runs in this process. Finished runs are not repeated; Ctrl-C ends the run after the
// current session. --set learningRate=2e-2 tries other settings of the collector, with --quick.
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { assembleSettings, submitSettings } from '../../services/collector/settings.ts';
import { earDigest } from '../../services/judge/ear/open-ear.ts';
import { readCard } from '../../services/judge/ear/read-ear.ts';
import { thresholdsOfBoth } from '../../services/judge/ear/thresholds.ts';
import { createJudge } from '../../services/judge/judges/judges.ts';
import { CollectorConfig } from '../../shared/config/collector.ts';
import { JudgeConfig } from '../../shared/config/judge.ts';
import type { BackendChoice } from '../../shared/policy/executors/backend.ts';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { addJsonLine, readJsonLines } from '../bench/json-lines.ts';
import { openLearningModel } from '../bench/learning/model.ts';
import { createProgress } from '../bench/learning/progress.ts';
import { readFlags } from '../bench/read-flags.ts';
import { listOf as list, settingsOf } from '../bench/set-flags.ts';
import { writeTables } from '../bench/write-tables.ts';
import { httpWorld } from './http-world.ts';
import { people } from './people.ts';
import { quickWorld } from './quick-world.ts';
import { type Line, nameOf, oneLine, peopleTables } from './report.ts';
import { type RunKey, runPerson } from './run-person.ts';
import type { OpenWorld } from './world.ts';

/** Increased when a change of the bench changes the results of a run. */
const REVISION = 4;
const everybody = people.map(({ name }) => name);

const { values } = readFlags(
  'npm run bench:people -- ...: scripted people, each with a control that does not learn',
  {
    options: {
      people: { type: 'string', default: '' },
      seeds: { type: 'string', default: '1' },
      sessions: { type: 'string', default: '30' },
      answers: { type: 'string', default: '128' },
      quick: { type: 'boolean', default: false },
      controls: { type: 'string', default: 'yes' },
      backend: { type: 'string', default: 'auto' },
      set: { type: 'string', default: '' },
      results: { type: 'string', default: fileURLToPath(new URL('results.jsonl', import.meta.url)) },
      'write-docs': { type: 'boolean', default: false },
      'report-only': { type: 'boolean', default: false },
    },
  },
);
const settings = settingsOf(values.set);
const chosen = values.people === '' ? everybody : list(values.people);
const unknown = chosen.filter((name) => !everybody.includes(name));
if (unknown.length > 0) {
  console.error(`there is no ${unknown.join(', ')}; there are: ${everybody.join(', ')}`);
  process.exit(2);
}

const [sessions, answers] = [Number(values.sessions), Number(values.answers)];
const through = values.quick ? 'process' : 'http';
const judgeConfig = JudgeConfig.parse({ model: CLAW_NANO });
const config = CollectorConfig.parse({ ...settings, model: CLAW_NANO });
const thresholds = [readCard().thresholds, ...Object.values(thresholdsOfBoth)];
const measuredBy = [
  REVISION,
  submitSettings(config),
  assembleSettings(config),
  judgeConfig.kind,
  earDigest(),
  thresholds,
  sessions,
  answers,
];
const protocol = createHash('sha256')
  .update(JSON.stringify([measuredBy, through]))
  .digest('hex')
  .slice(0, 12);
const lines = async () =>
  (await readJsonLines<Line>(values.results)).filter((line) => line.protocol === protocol);

const stop = new AbortController();
process.once('SIGINT', () => {
  console.log('\nending after this session; finished runs are kept. Press Ctrl-C again to end at once.');
  stop.abort();
});

if (!values['report-only']) {
  try {
    await (values.quick ? quickly() : runAll(httpWorld(['--backend', values.backend])));
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    process.exitCode = 130;
  }
}
const done = await lines();
if (done.length > 0) {
  const about = `${done.length} runs of ${sessions} sessions, ${values.quick ? 'within one process' : 'through HTTP'}.`;
  const tables = `${about}\n\n${peopleTables(done)}`;
  console.log(`\n${tables}\n\n${values.results}`);
  if (values['write-docs']) await writeTables('people', tables);
}

async function quickly(): Promise<void> {
  const model = await openLearningModel(values.backend as BackendChoice);
  const judge = await createJudge(judgeConfig);
  console.log(`${model.report}; judge ${judge.name}`);
  try {
    await runAll(quickWorld(model, judge, settings));
  } finally {
    await judge.close?.();
    model.dispose();
  }
}

async function runAll(open: OpenWorld): Promise<void> {
  const known = new Set((await lines()).map(nameOf));
  const both = values.controls === 'no' ? [true] : [true, false];
  const runs: readonly RunKey[] = list(values.seeds)
    .flatMap((seed) =>
      chosen.flatMap((person) => both.map((learning) => ({ person, seed: Number(seed), learning }))),
    )
    .filter((key) => !known.has(nameOf(key)));
  const progress = createProgress(runs.length, process.stdout);
  for (const key of runs) {
    const person = people.find(({ name }) => name === key.person)!;
    const report = await runPerson(
      open,
      person,
      { ...key, sessions, answers },
      { signal: stop.signal, onSession: (session) => progress.at(nameOf(key), session / sessions) },
    );
    await addJsonLine(values.results, { protocol, through, ...report } satisfies Line);
    progress.done(oneLine(report));
  }
}
