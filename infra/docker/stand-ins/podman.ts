import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Keeps images between runs, separate from the machine's own containers. */
const storage = join(homedir(), '.cache', 'clawloop', 'containers');
/** state that a reboot clears */
const running = `/run/clawloop-${createHash('sha256').update(storage).digest('hex').slice(0, 8)}`;

/** Why containers cannot be run here; null if they can. */
export function whyNoContainers(): string | null {
  if (process.platform !== 'linux') return 'containers need Linux';
  if (process.getuid?.() !== 0) return 'the stand-ins for public images are made as root';
  const missing = ['podman', 'runc', 'debootstrap', 'podman-compose', 'iptables'].filter(
    (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).error !== undefined,
  );
  return missing.length === 0 ? null : `not installed: ${missing.join(', ')}`;
}

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type RunOptions = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** called with each printed line */
  readonly onLine?: (line: string) => void;
};

/** Runs podman, podman-compose or debootstrap to completion. */
export function run(
  command: string,
  args: readonly string[],
  { environment = {}, input, onLine }: RunOptions = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...containerSettings(), ...environment },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    const tell = (text: string) => {
      for (const line of text.split('\n')) if (line.trim() !== '') onLine?.(line);
    };
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      tell(text);
    });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      tell(text);
    });
    child.stdin?.end(input);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, stdout, stderr }));
  });
}

/** As `run`. @throws Error with the output if it fails */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}) {
  const ran = await run(command, args, options);
  if (ran.code !== 0) {
    const said = `${ran.stdout}${ran.stderr}`.slice(-4_000);
    throw new Error(`${command} ${args.slice(0, 6).join(' ')} failed (${ran.code}):\n${said}`);
  }
  return ran.stdout;
}

/** Separate settings files for podman, selected by environment variables, so that the machine's settings stay. */
export function containerSettings(): Readonly<Record<string, string>> {
  const folder = join(storage, 'settings');
  mkdirSync(folder, { recursive: true });
  const [engine, store] = [join(folder, 'containers.conf'), join(folder, 'storage.conf')];
  writeFileSync(engine, engineSettings);
  writeFileSync(store, storeSettings);
  return {
    CONTAINERS_CONF: engine,
    CONTAINERS_STORAGE_CONF: store,
    // the format with health checks
    BUILDAH_FORMAT: 'docker',
  };
}

/** runc works with every cgroup layout; the limits are allowed everywhere. */
const engineSettings = `
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
volume_path = "${storage}/volumes"
tmp_dir = "${running}/libpod"
[network]
network_backend = "netavark"
network_config_dir = "${storage}/networks"
`;

const storeSettings = `
[storage]
driver = "overlay"
graphroot = "${storage}/images"
runroot = "${running}/storage"
`;
