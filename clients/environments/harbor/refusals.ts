import type { TaskFile } from './task-file.ts';

type Given = {
  readonly withNetwork: boolean;
  /** whether the task's folder has this path */
  readonly has: (path: string) => boolean;
};

/** Why a task cannot run here, after its name; undefined: it can. The first reason that applies. */
export function whyRefused(file: TaskFile, { withNetwork, has }: Given): string | undefined {
  const { environment, agent, verifier, artifacts, steps } = file;
  const verifiers = [verifier, ...steps.map((step) => step.verifier)];
  const environments = [environment, ...verifiers.flatMap((one) => one.environment ?? [])];
  const composed = ['environment', 'tests', ...steps.map(({ name }) => `steps/${name}/tests`)].find(
    (folder) => has(`${folder}/docker-compose.yaml`) || has(`${folder}/docker-compose.yml`),
  );
  if (composed !== undefined) return `needs several containers (${composed}/docker-compose.yaml)`;
  if (environment.docker_image === undefined && !has('environment/Dockerfile'))
    return 'has neither environment/Dockerfile nor environment.docker_image';
  if (environments.some(({ os }) => os.toLowerCase() !== 'linux')) return 'needs another system than Linux';
  if (environments.some(({ gpus, tpu }) => (gpus ?? 0) > 0 || tpu !== undefined))
    return 'needs an accelerator';
  if (environments.some((one) => one.mcp_servers.length > 0)) return 'needs MCP servers';
  const all = [...artifacts, ...steps.flatMap((step) => step.artifacts)];
  if (all.some(({ service }) => service !== undefined && service !== 'main'))
    return 'takes artifacts from another container';
  if (all.some(({ exclude }) => exclude.length > 0)) return 'leaves files out of its artifacts (`exclude`)';
  if (all.some(({ source }) => !/^\/[^/]/.test(source) || source.split('/').includes('..')))
    return 'has an artifact that is not an absolute path';
  if (verifiers.some(({ collect }) => collect.some(({ service }) => service !== 'main')))
    return 'collects from another container';
  const phases = [agent, ...steps.map((step) => step.agent), ...verifiers].map((one) => one.network_mode);
  const asked = [...environments.map(networkOf), ...phases].filter((mode) => mode !== undefined);
  if (asked.includes('allowlist')) return 'needs a network with allowed hosts (network_mode = "allowlist")';
  if (!withNetwork && asked.includes('public'))
    return 'asks for a network: allow it with --network, or remove network_mode and allow_internet';
  if (
    withNetwork &&
    phases.some((mode) => mode !== undefined && mode !== (networkOf(environment) ?? 'public'))
  )
    return 'changes its network between phases';
  return undefined;
}

/** Undefined: the task does not set it. Harbor then gives it a network; ClawLoop does only with --network. */
export const networkOf = ({
  network_mode: mode,
  allow_internet: internet,
}: TaskFile['environment']): 'public' | 'no-network' | 'allowlist' | undefined =>
  mode ?? (internet === undefined ? undefined : internet ? 'public' : 'no-network');
