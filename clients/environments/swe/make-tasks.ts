import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom } from '../../../shared/policy/model/random.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { ContainerTool } from '../harbor/container-tool.ts';
import { applyEdit, type Edit, orderOfTrials } from './edit.ts';
import {
  fetchPackage,
  filesOf,
  type PackageSource,
  type PackageSpecification,
  textOf,
} from './package-source.ts';
import { isTestFile } from './toolchain.ts';
import { stableTests, type TestRun, verdictOf } from './verdict.ts';
import { openWorkbench, type Workbench } from './workbench.ts';
import { type Bug, writeTask } from './write-task.ts';

export type MakeTasksSettings = {
  readonly specification: PackageSpecification;
  /** where the task directories go */
  readonly out: string;
  readonly count: number;
  readonly seed: number;
  readonly tool: ContainerTool;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: MakeTasksProgress) => void;
};

export type MakeTasksProgress =
  | { readonly step: 'fetching' | 'building' | 'testing' }
  | { readonly step: 'trying'; readonly made: number; readonly count: number; readonly tried: number };

type MadeTask = {
  readonly name: string;
  readonly modifier: string;
  readonly failToPass: number;
  readonly passToPass: number;
};

export type MadeTasks = {
  readonly tasks: readonly MadeTask[];
  readonly tried: number;
  /** possible changes */
  readonly edits: number;
  /** tests that pass in every run */
  readonly stable: number;
  /** tests whose outcome differs between runs */
  readonly flaky: number;
};

/** runs of the tests before the first bug; a test that fails once in them is left out */
const RUNS = 3;
/** ms for the first run of the tests */
const FIRST_LIMIT_MS = 300_000;
/** A bug may make tests slower by this factor, or by this many ms, before it counts as a hang. */
const [SLOWER, SLOWER_MS] = [5, 20_000];

/**
 * Injects bugs into a package, one per task, and writes those that break a test and leave one as Harbor tasks.
 *
 * @throws UsageError when the package cannot be used
 * @throws the reason of the signal
 */
export async function makeTasks(settings: MakeTasksSettings): Promise<MadeTasks> {
  const { signal, onProgress, tool, out } = settings;
  const nameOf = (title: string, index: number) => `${plain(title)}-${settings.seed}-${index}`;
  const scratch = await mkdtemp(join(tmpdir(), 'clawloop-package-'));
  let workbench: Workbench | undefined;
  try {
    onProgress({ step: 'fetching' });
    const source = await fetchPackage(settings.specification, scratch, signal);
    const layout = await layoutOf(source);
    const first = join(out, nameOf(source.title, 0));
    if (existsSync(first)) throw new UsageError(`${first} exists already: choose another --out or --seed`);
    onProgress({ step: 'building' });
    workbench = await openWorkbench(tool, source.toolchain, signal);
    await workbench.copyIn(source.folder);
    onProgress({ step: 'testing' });
    const baseline = await runBaseline(workbench, source);
    const texts = new Map<string, string>();
    for (const path of layout.sources) {
      const text = await textOf(source.folder, path);
      if (text !== undefined) texts.set(path, text);
    }
    const edits = await source.toolchain.findEdits(texts, workbench);
    await mkdir(out, { recursive: true });
    const bugs = tryEdits(orderOfTrials(edits, createRandom(`swe/${settings.seed}`)), {
      ...baseline,
      texts,
      workbench,
    });
    const tasks: MadeTask[] = [];
    let tried = 0;
    for await (const bug of bugs) {
      tried++;
      if (bug !== undefined) {
        const name = nameOf(source.title, tasks.length);
        const originalText = texts.get(bug.edit.file)!;
        await writeTask(join(out, name), name, bug, {
          ...layout,
          source,
          originalText,
          limitMs: baseline.limitMs,
        });
        const { failToPass, passToPass } = bug.verdict;
        tasks.push({
          name,
          modifier: bug.edit.modifier,
          failToPass: failToPass.length,
          passToPass: passToPass.length,
        });
      }
      onProgress({ step: 'trying', made: tasks.length, count: settings.count, tried });
      if (tasks.length >= settings.count) break;
    }
    return { tasks, tried, edits: edits.length, stable: baseline.stable.length, flaky: baseline.flaky };
  } finally {
    await workbench?.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

const plain = (title: string): string =>
  title
    .replaceAll(/[^A-Za-z0-9.]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .toLowerCase();

/** @throws UsageError when the package has no tests, no source, or needs more than itself */
async function layoutOf({ folder, title, toolchain }: PackageSource) {
  const files = await filesOf(folder);
  const reason = await toolchain.whyNot((path) => textOf(folder, path));
  if (reason !== undefined) throw new UsageError(`${title} ${reason}, which the container does not have`);
  const testFiles = files.filter((path) => isTestFile(toolchain, path));
  const sources = files.filter((path) => !testFiles.includes(path) && toolchain.isSource(path));
  const hasTests = testFiles.some(
    (path) => /\.(py|[cm]?js)$/.test(path) && !/(^|\/)conftest\.py$/.test(path),
  );
  if (!hasTests)
    throw new UsageError(`${title} comes without tests: give a folder of its repository instead`);
  if (sources.length === 0) throw new UsageError(`${title} has no ${toolchain.language} source`);
  const known = new Set(files);
  const roots = [...new Set(sources.map((path) => toolchain.rootOf(path, known)))];
  return { testFiles, sources, roots };
}

type Baseline = {
  readonly stable: readonly string[];
  readonly flaky: number;
  /** ms after which a run counts as hanging */
  readonly limitMs: number;
};

/** @throws UsageError when no test passes */
async function runBaseline(workbench: Workbench, { title }: PackageSource): Promise<Baseline> {
  const runs: (TestRun & { readonly printed: string })[] = [];
  let slowest = 0;
  for (let run = 0; run < RUNS; run++) {
    const began = monotonicNow();
    runs.push(await workbench.test(FIRST_LIMIT_MS));
    slowest = Math.max(slowest, monotonicNow() - began);
  }
  const stable = stableTests(runs);
  const ever = new Set(runs.flatMap(({ passed }) => [...passed]));
  if (stable.length < 2)
    throw new UsageError(
      `${stable.length} tests of ${title} pass in the container; two or more are needed. It says:\n${runs[0]!.printed.slice(-1_500)}`,
    );
  return { stable, flaky: ever.size - stable.length, limitMs: slowest * SLOWER + SLOWER_MS };
}

type Trials = Baseline & { readonly texts: ReadonlyMap<string, string>; readonly workbench: Workbench };

/** The bugs among the edits, in order of discovery; undefined for an edit that is no bug. No line has two bugs. */
async function* tryEdits(edits: readonly Edit[], trials: Trials): AsyncGenerator<Bug | undefined> {
  const { texts, workbench, stable, limitMs } = trials;
  const used = new Set<string>();
  for (const edit of edits) {
    const place = `${edit.file}:${edit.line}`;
    if (used.has(place)) continue;
    const [text, broken] = [texts.get(edit.file)!, applyEdit(texts.get(edit.file)!, edit)];
    await workbench.write(edit.file, broken);
    const first = await workbench.test(limitMs);
    const runs = verdictOf(stable, [first]) === undefined ? [first] : [first, await workbench.test(limitMs)];
    const verdict = verdictOf(stable, runs);
    await workbench.write(edit.file, text);
    if (verdict === undefined) {
      yield undefined;
      continue;
    }
    used.add(place);
    yield { edit, verdict, withBug: first, fix: await workbench.diff(edit.file, broken, text) };
  }
}
