import { mustRun, type Ran, run } from '../../../infra/docker/stand-ins/podman.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { freePort, until } from '../harness/clawloop.ts';

const MINUTE = 60_000;
const prefix = 'clawloop-e2e-';

/** The compose file of the project, started by podman-compose under its own name and port. */
export type Deployment = {
  readonly url: string;
  readonly apiKey: string;
  /** Builds the image of the services; later builds repeat only the changed layers. */
  readonly build: () => Promise<void>;
  /** Resolves when serving answers that it is ready. */
  readonly up: (services?: readonly string[]) => Promise<void>;
  /** Removes containers and network; keeps volumes. */
  readonly down: () => Promise<void>;
  /** Removes everything, including the services' image. */
  readonly remove: () => Promise<void>;
  /** Runs podman-compose with these arguments. */
  readonly compose: (...words: readonly string[]) => Promise<Ran>;
  /** A command of clawloop in the container of serving. */
  readonly clawloop: (...words: readonly string[]) => Promise<Ran>;
  /** A command in the container of a service. @throws if it fails */
  readonly exec: (service: string, ...words: readonly string[]) => Promise<string>;
  /** podman on the container of a service, whose name replaces `{}`. @throws if it fails */
  readonly podman: (service: string, ...words: readonly string[]) => Promise<string>;
  /** kcat in a separate container, in the network of Kafka's container. @throws if it fails */
  readonly kcat: (...words: readonly string[]) => Promise<string>;
  /** The last output of each container. */
  readonly logs: () => Promise<string>;
};

/** `backend`: of the image. The native one takes minutes to build. */
export async function openDeployment(
  say: (line: string) => void,
  backend: 'native' | 'wasm',
): Promise<Deployment> {
  const project = `${prefix}${process.pid}`;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const apiKey = 'a-key-of-this-test';
  const environment = {
    CLAWLOOP_SERVING_API_KEY: apiKey,
    CLAWLOOP_PUBLISH: `127.0.0.1:${port}`,
    CLAWLOOP_IMAGE: `localhost/${project}:latest`,
    CLAWLOOP_IMAGE_BACKEND: backend,
  };
  const compose = (...words: readonly string[]) =>
    run('podman-compose', ['--project-name', project, ...words], { environment });
  const mustCompose = (words: readonly string[], onLine?: (line: string) => void) =>
    mustRun('podman-compose', ['--project-name', project, ...words], {
      environment,
      ...defined({ onLine }),
    });
  const containerOf = (service: string) => `${project}_${service}_1`;
  const isReady = () =>
    fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  return {
    url,
    apiKey,
    build: async () => {
      // the others have the same image
      await mustCompose(['build', 'serving'], (line) => {
        if (/^\[?\S*\]? ?STEP|^setup:native/.test(line)) say(`  ${line.slice(0, 140)}`);
      });
    },
    up: async (services = []) => {
      await mustCompose(['up', '--detach', ...services]);
      await until('serving is ready', isReady, 2 * MINUTE);
    },
    down: async () => void (await mustCompose(['down'])),
    remove: async () => {
      await compose('down', '--volumes');
      await removeAll(project);
      await run('podman', ['image', 'rm', '--force', environment.CLAWLOOP_IMAGE]);
      // layers of builds that were unused for a week
      await run('podman', ['image', 'prune', '--force', '--filter', 'until=168h']);
    },
    compose,
    clawloop: (...words) => compose('exec', '-T', 'serving', 'clawloop', ...words),
    exec: (service, ...words) => mustCompose(['exec', '-T', service, ...words]),
    podman: (service, ...words) =>
      mustRun(
        'podman',
        words.map((word) => (word === '{}' ? containerOf(service) : word)),
      ),
    kcat: async (...words) => {
      // An interface of its own could change the address of the bridge, and the other containers would find no name.
      const inspect = ['inspect', '--format', '{{.State.Pid}}', containerOf('kafka')];
      const pid = (await mustRun('podman', inspect)).trim();
      const network = ['--network', `ns:/proc/${pid}/ns/net`, '--add-host', 'kafka:127.0.0.1'];
      return mustRun('podman', ['run', '--rm', ...network, 'docker.io/edenhill/kcat:1.7.1', ...words]);
    },
    logs: async () => {
      const names = (await containers()).filter((name) => name.startsWith(`${project}_`));
      const texts = await Promise.all(names.map((name) => run('podman', ['logs', '--tail', '15', name])));
      return texts.map(({ stdout, stderr }, index) => `--- ${names[index]}\n${stdout}${stderr}`).join('\n');
    },
  };
}

/** Removes the remains of earlier runs that were killed. */
export async function removeLeftovers(): Promise<void> {
  const projects = (await containers()).map((name) => name.split('_')[0]!);
  for (const project of new Set(projects)) {
    const pid = Number(project.slice(prefix.length));
    if (project.startsWith(prefix) && !isAlive(pid)) await removeAll(project);
  }
}

async function removeAll(project: string): Promise<void> {
  const own = (names: string) => names.split('\n').filter((name) => name.includes(project));
  const found = (words: readonly string[]) => mustRun('podman', words).then(own, () => []);
  for (const name of await found(['ps', '--all', '--format', '{{.Names}}'])) {
    await run('podman', ['rm', '--force', '--depend', '--time', '0', '--volumes', name]);
  }
  for (const kind of ['pod', 'volume', 'network']) {
    for (const name of await found([kind, 'ls', '--format', '{{.Name}}'])) {
      await run('podman', [kind, 'rm', '--force', name]);
    }
  }
}

const containers = async (): Promise<readonly string[]> =>
  (await mustRun('podman', ['ps', '--all', '--format', '{{.Names}}'])).split('\n').filter(Boolean);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
