import { spawnSync } from 'node:child_process';
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
