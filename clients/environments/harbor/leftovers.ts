import { spawn, spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { living } from './container.ts';
import { type ContainerTool, runTool } from './container-tool.ts';

/** Removes this process's containers when it ends while some are alive, as after a second Ctrl-C. */
export function removeAtExit(): () => void {
  const remove = () => {
    for (const [name, tool] of living)
      spawnSync(tool, ['rm', '--force', '--volumes', name], { stdio: 'ignore' });
  };
  process.on('exit', remove);
  return () => void process.off('exit', remove);
}

/** Waits for the end of its input, then removes containers. One may still be starting, so it looks three times. */
const KEEPER = `cat > /dev/null
for again in 1 2 3; do
  ids=$("$0" ps --all --quiet --filter "label=clawloop.process=$1" --filter "label=clawloop.host=$2")
  [ -z "$ids" ] || "$0" rm --force --volumes $ids
  sleep 2
done`;

/**
 * Removes this process's containers when it is killed: a small process waits for the end of a pipe, which the system
 * closes however this process ends. Call the result when no container is left.
 */
export function removeWhenKilled(tool: ContainerTool): () => void {
  const keeper = spawn('sh', ['-c', KEEPER, tool, String(process.pid), hostname()], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl-C in the terminal must not end it first
  });
  keeper.on('error', () => {}); // the next rollout removes what is left
  keeper.unref();
  return () => void keeper.kill('SIGKILL');
}

/** Removes containers of earlier processes of this machine that were killed. Never throws. */
export async function removeLeftovers(tool: ContainerTool): Promise<void> {
  const filter = ['--filter', `label=clawloop.host=${hostname()}`];
  const listed = await runTool(tool, ['ps', '--all', '--quiet', ...filter]);
  for (const id of listed.output.split('\n').filter(Boolean)) {
    const format = '{{index .Config.Labels "clawloop.process"}}';
    const { code, output } = await runTool(tool, ['inspect', '--format', format, id]);
    const pid = Number(output);
    if (code === 0 && Number.isInteger(pid) && pid > 0 && !isAlive(pid))
      await runTool(tool, ['rm', '--force', '--volumes', id]);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
