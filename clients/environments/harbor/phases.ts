import { join } from 'node:path';
import type { ImageSource } from './images.ts';
import type { Rewards } from './reward-file.ts';
import type { EnvironmentTable, Healthcheck, TaskFile, VerifierTable } from './task-file.ts';
import type { HarborTask } from './task-folder.ts';

/** How one step of a task is graded. */
export type Grading = {
  readonly mode: 'shared' | 'separate';
  /** folders of this machine whose contents become /tests, the later ones over the earlier; empty: the image has them */
  readonly tests: readonly string[];
  readonly user: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly limitMs: number;
  /** of the verifier's own container */
  readonly image: ImageSource;
  readonly environment: EnvironmentTable;
  /** commands in the agent's container before the artifacts are taken */
  readonly collect: VerifierTable['collect'];
  /** paths that a separate verifier receives */
  readonly artifacts: readonly string[];
};

/** A part of a task with its own instruction and rating. A plain task has one. */
export type Phase = {
  readonly instruction: string;
  readonly user: string | undefined;
  /** ms; undefined: the task sets no limit */
  readonly limitMs: number | undefined;
  readonly healthcheck: Healthcheck | undefined;
  /** files for the working directory, and perhaps a `setup.sh` */
  readonly workdir: string | undefined;
  /** folder of the reference solution */
  readonly solution: string;
  readonly least: number | Rewards | undefined;
  readonly grading: Grading;
};

/** s for a verifier, if the task sets no limit */
const VERIFIER_LIMIT = 600;

/** Where a task's container comes from. */
export const imageOf = ({ folder, file }: HarborTask): ImageSource =>
  file.environment.docker_image === undefined
    ? { kind: 'folder', path: join(folder, 'environment') }
    : { kind: 'image', name: file.environment.docker_image };

/** @param has whether a path of this machine exists */
export function phasesOf(task: HarborTask, has: (path: string) => boolean): readonly Phase[] {
  const { folder, file, instruction } = task;
  const solution = join(folder, 'solution');
  const ms = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1000);
  if (task.steps.length === 0)
    return [
      {
        instruction,
        user: file.agent.user,
        limitMs: ms(file.agent.timeout_sec),
        healthcheck: undefined,
        workdir: undefined,
        solution,
        least: undefined,
        grading: gradingOf(task, undefined, has),
      },
    ];
  return task.steps.map((step) => {
    const workdir = join(step.folder, 'workdir');
    const own = join(step.folder, 'solution');
    return {
      instruction: step.instruction,
      user: step.table.agent.user ?? file.agent.user,
      limitMs: ms(step.table.agent.timeout_sec ?? file.agent.timeout_sec),
      healthcheck: step.table.healthcheck,
      workdir: has(workdir) ? workdir : undefined,
      solution: has(own) ? own : solution,
      least: step.table.min_reward,
      grading: gradingOf(task, step, has),
    };
  });
}

type Step = HarborTask['steps'][number];

function gradingOf(task: HarborTask, step: Step | undefined, has: (path: string) => boolean): Grading {
  const { file } = task;
  const [whole, own] = [file.verifier, step?.table.verifier];
  const image = verifierImage(task, step, has);
  return {
    mode: (own && modeOf(own)) ?? modeOf(whole) ?? 'shared',
    tests: image.hasTests ? [] : testFolders(task, step).filter(has),
    user: own?.user ?? whole.user,
    env: { ...whole.env, ...own?.env },
    limitMs: (own?.timeout_sec ?? whole.timeout_sec ?? VERIFIER_LIMIT) * 1000,
    image: image.source,
    environment: own?.environment ?? whole.environment ?? file.environment,
    collect: [...whole.collect, ...(own?.collect ?? [])],
    artifacts: artifactsOf(file, step),
  };
}

/** Undefined: the table does not set it. */
const modeOf = ({ environment_mode: mode, environment }: VerifierTable): Grading['mode'] | undefined =>
  mode ?? (environment === undefined ? undefined : 'separate');

const testFolders = ({ folder }: HarborTask, step: Step | undefined): readonly string[] => [
  join(folder, 'tests'),
  ...(step === undefined ? [] : [join(step.folder, 'tests')]),
];

/** The first image that the task offers for its verifier; without one, it is the agent's image. */
function verifierImage(
  task: HarborTask,
  step: Step | undefined,
  has: (path: string) => boolean,
): { readonly source: ImageSource; readonly hasTests: boolean } {
  const tables = [task.file.verifier, ...(step === undefined ? [] : [step.table.verifier])];
  const places = testFolders(task, step).map((path, index) => ({ path, table: tables[index]!.environment }));
  for (const { path, table } of places.reverse()) {
    if (table?.docker_image !== undefined)
      return { source: { kind: 'image', name: table.docker_image }, hasTests: true };
    if (has(join(path, 'Dockerfile'))) return { source: { kind: 'folder', path }, hasTests: true };
  }
  return { source: imageOf(task), hasTests: false };
}

/** Harbor always takes /logs/artifacts. */
const artifactsOf = ({ artifacts }: TaskFile, step: Step | undefined): readonly string[] => [
  ...new Set([
    '/logs/artifacts',
    ...[...artifacts, ...(step?.table.artifacts ?? [])].map(({ source }) => source),
  ]),
];
