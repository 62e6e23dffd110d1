import type { Injector } from '../chaos/services/inject.ts';
import { type Fault, nameOf } from '../chaos/services/plan.ts';
import { backupsIn, type LongRunDeployment } from './deployment.ts';
import type { Act } from './plan.ts';

type Options = {
  readonly deployment: LongRunDeployment;
  readonly injector: Injector;
  /** Folder of the next release. */
  readonly release: string;
  readonly print: (line: string) => void;
};

/** Readers come before the writers, as docs/operate/deploy.md asks for. */
const upgradeOrder = ['console', 'trainer', 'collector', 'judge', 'serving'] as const;
const POINTS = '4';

/** Carries out one act at a time. */
export function createActing({ deployment, injector, release, print }: Options) {
  const counts: Record<string, number> = {};
  const refused: string[] = [];
  const { dataFolder, folder, command, useRelease } = deployment;

  const inject = async (fault: Fault): Promise<void> => {
    await injector.inject(fault);
    counts[nameOf(fault)] = (counts[nameOf(fault)] ?? 0) + 1;
  };
  const run = async (...argv: readonly string[]): Promise<void> => {
    const [name = ''] = argv;
    const { code, stdout, stderr } = await command(...argv, '--data-folder', dataFolder);
    counts[name] = (counts[name] ?? 0) + 1;
    if (code !== 0) refused.push(`${argv.join(' ')}: exit ${code}: ${stdout}${stderr}`);
  };
  const carryOut = async (act: Act): Promise<void> => {
    switch (act.kind) {
      case 'fault':
        return inject(act.fault);
      case 'trim':
        return run('trim', '--keep', `${Math.round(act.keepHours * 60)}m`);
      case 'backup':
        return run('backup', backupsIn(folder), '--keep-points', POINTS);
      case 'upgrade':
        for (const target of upgradeOrder) await inject({ kind: 'restart', target, release });
        return useRelease(release);
    }
  };
  return {
    counts: counts as Readonly<Record<string, number>>,
    refused: refused as readonly string[],
    carryOut: async (act: Act, at: number): Promise<void> => {
      const began = performance.now();
      await carryOut(act);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      const name = act.kind === 'fault' ? nameOf(act.fault) : act.kind;
      print(`  hour ${at.toFixed(1)}: ${name}, over after ${seconds} s`);
    },
  };
}
