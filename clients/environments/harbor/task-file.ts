import { parse, TomlError } from 'smol-toml';
import { z } from 'zod';
import { UsageError } from '../../../shared/runtime/command-errors.ts';

// `task.toml` of Harbor, schema 1.0 to 1.4. Fields that ClawLoop does not use are accepted and ignored.

const User = z.union([z.string(), z.int()]).transform(String);
const Variables = z.record(z.string(), z.string()).default({});
const NetworkMode = z.enum(['public', 'no-network', 'allowlist']);
const Seconds = z.number().positive();

/** `2G`, `512M` or `64K`, in MB. */
const Size = z
  .string()
  .regex(/^\d+(\.\d+)?[KMG]$/i, 'must be a size such as 2G or 512M')
  .transform((text) => {
    const unit = { K: 1 / 1024, M: 1, G: 1024 }[text.at(-1)!.toUpperCase()]!;
    return Math.ceil(Number(text.slice(0, -1)) * unit);
  });

const Healthcheck = z.looseObject({
  command: z.string(),
  interval_sec: Seconds.default(5),
  timeout_sec: Seconds.default(30),
  start_period_sec: z.number().nonnegative().default(0),
  start_interval_sec: Seconds.default(5),
  retries: z.int().positive().default(3),
});
export type Healthcheck = z.output<typeof Healthcheck>;

const Agent = z.looseObject({
  timeout_sec: Seconds.optional(),
  user: User.optional(),
  network_mode: NetworkMode.optional(),
});

const Environment = z.looseObject({
  build_timeout_sec: Seconds.default(600),
  docker_image: z.string().optional(),
  os: z.string().default('linux'),
  cpus: z.number().positive().optional(),
  memory_mb: z.int().positive().optional(),
  memory: Size.optional(),
  storage_mb: z.int().positive().optional(),
  storage: Size.optional(),
  gpus: z.int().optional(),
  tpu: z.unknown().optional(),
  mcp_servers: z.array(z.looseObject({ name: z.string() })).default([]),
  network_mode: NetworkMode.optional(),
  allow_internet: z.boolean().optional(),
  workdir: z.string().optional(),
  env: Variables,
  healthcheck: Healthcheck.optional(),
});
export type EnvironmentTable = z.output<typeof Environment>;

const Artifact = z.union([
  z.string().transform((source) => ({ source, service: undefined, exclude: [] as string[] })),
  z.looseObject({
    source: z.string(),
    service: z.string().optional(),
    exclude: z.array(z.string()).default([]),
  }),
]);

const Verifier = z.looseObject({
  timeout_sec: Seconds.optional(),
  user: User.optional(),
  env: Variables,
  network_mode: NetworkMode.optional(),
  environment_mode: z.enum(['shared', 'separate']).optional(),
  environment: Environment.optional(),
  collect: z
    .array(
      z.looseObject({
        command: z.string(),
        service: z.string().default('main'),
        timeout_sec: Seconds.default(60),
        user: User.optional(),
      }),
    )
    .default([]),
});
export type VerifierTable = z.output<typeof Verifier>;

const Step = z.looseObject({
  // it is a folder's name
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/),
  agent: Agent.prefault({}),
  verifier: Verifier.prefault({}),
  min_reward: z.union([z.number(), z.record(z.string(), z.number())]).optional(),
  healthcheck: Healthcheck.optional(),
  artifacts: z.array(Artifact).default([]),
});
export type StepTable = z.output<typeof Step>;

const TaskFile = z.looseObject({
  agent: Agent.prefault({}),
  verifier: Verifier.prefault({}),
  environment: Environment.prefault({}),
  solution: z.looseObject({ env: Variables }).prefault({}),
  artifacts: z.array(Artifact).default([]),
  steps: z.array(Step).default([]),
  multi_step_reward_strategy: z.enum(['mean', 'final']).default('mean'),
});
export type TaskFile = z.output<typeof TaskFile>;

/** @throws UsageError naming the place that is not of Harbor's form */
export function readTaskFile(text: string, path: string): TaskFile {
  const file = TaskFile.safeParse(parsed(text, path));
  if (!file.success) throw new UsageError(`${path}: ${z.prettifyError(file.error)}`);
  return file.data;
}

function parsed(text: string, path: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof TomlError)
      throw new UsageError(`${path}:${error.line} is not TOML: ${error.message}`);
    throw error;
  }
}
