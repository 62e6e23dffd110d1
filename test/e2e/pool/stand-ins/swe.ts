import { randomBytes } from 'node:crypto';
import { type Body, refusal, type StandIn, serve } from './serve.ts';

type Container = { readonly image: string; readonly files: Map<string, string>; isGone: boolean };

export type SwePool = StandIn & {
  /** Containers that run for a lease. */
  readonly open: () => number;
  readonly mostOpen: () => number;
  /** Ends all containers; the pool does not notice. */
  readonly loseContainers: () => void;
};

const isPatch = (patch: string): boolean => /diff --git /.test(patch) && /^\+\+\+ b\//m.test(patch);

/** The container's response to a command: `echo WORD > FILE`, `cat FILE`, `sleep` or `true`. */
function execute({ files, isGone }: Container, command: string, timeout: number) {
  if (isGone) return { returncode: 1, output: 'Error response from daemon: container is not running\n' };
  if (command === 'sleep') return { returncode: -1, output: `Command timed out after ${timeout}s` };
  const [, word, written] = /^echo (.+) > (\S+)$/.exec(command) ?? [];
  if (written !== undefined) files.set(written, word!);
  const [, said] = /^echo ([^>]+); false$/.exec(command) ?? [];
  if (said !== undefined) return { returncode: 1, output: `${said}\n` };
  const [, read] = /^cat (\S+)$/.exec(command) ?? [];
  if (read === undefined) return { returncode: 0, output: '' };
  const content = files.get(read);
  return content === undefined
    ? { returncode: 1, output: `cat: ${read}: No such file or directory\n` }
    : { returncode: 0, output: `${content}\n` };
}

/**
 * Speaks the wire of swe-rl's environment pool. A patch resolves the issue when the evaluation script's word is
 * among its added lines; the tests run in the container of the lease that asks.
 */
export async function swePool({ room = 16, port = 0 } = {}): Promise<SwePool> {
  const leases = new Map<string, Container>();
  let most = 0;
  const containerOf = ({ lease_id: id }: Body): Container => {
    const container = leases.get(String(id));
    if (container === undefined) throw refusal(500, { ok: false, error: `'Unknown lease_id: ${id}'` });
    return container;
  };
  const standIn = await serve(
    {
      '/allocate': ({ image }) => {
        if (!image) throw refusal(400, { ok: false, error: 'image is required' });
        if (leases.size >= room)
          throw refusal(500, { ok: false, error: 'All exec nodes are full or unhealthy. nodes=[]' });
        const id = `swe-lease-${randomBytes(8).toString('hex')}`;
        leases.set(id, { image: String(image), files: new Map(), isGone: false });
        most = Math.max(most, leases.size);
        return { lease_id: id, container_id: `c-${id}`, node_url: 'http://10.0.0.10:5000' };
      },
      '/heartbeat': (body) => {
        containerOf(body);
        return {};
      },
      '/exec': (body) => execute(containerOf(body), String(body.command), Number(body.timeout)),
      '/diff': (body) => {
        const { files, isGone } = containerOf(body);
        if (isGone) return { patch: '', returncode: 1, error: 'Error response from daemon: not running' };
        const patch = [...files].map(
          ([name, line]) =>
            `diff --git a/${name} b/${name}\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+${line}\n`,
        );
        return { patch: patch.join(''), returncode: 0, error: '' };
      },
      '/evaluate': (body) => {
        const { files } = containerOf(body);
        if (!isPatch(String(body.patch)))
          return { resolved: false, error: 'patch validation failed: expected unified git diff' };
        if (files.size > 0) return { resolved: false, error: 'git apply failed: already exists' };
        const isFixed = String(body.patch).includes(`+${body.eval_script}`);
        return { resolved: isFixed, returncode: isFixed ? 0 : 1, output: isFixed ? 'ok' : '1 failed' };
      },
      '/close': ({ lease_id: id }) => {
        leases.delete(String(id));
        return {};
      },
    },
    port,
  );
  return {
    ...standIn,
    open: () => leases.size,
    mostOpen: () => most,
    loseContainers: () => {
      for (const container of leases.values()) container.isGone = true;
    },
  };
}
