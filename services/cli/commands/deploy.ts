import type { Command } from '../command.ts';
import { commandOf, notRunLive, planDeploy } from '../deploy/plan-deploy.ts';
import type { Finding } from '../doctor/checks.ts';
import { up } from './up.ts';

export const deploy: Command = {
  name: 'deploy',
  usage: 'tinker | fireworks [--method M] [--dry-run] [options of up]',
  about: `run all services here and train at a hosted service. ${notRunLive}`,
  details: [
    ['tinker', 'Tinker; needs TINKER_API_KEY, and takes TINKER_PROJECT_ID'],
    ['fireworks', 'a dedicated trainer job of Fireworks; needs FIREWORKS_API_KEY and --training-url'],
    ['--method binary|opd|combine', 'learn from verdicts, hints, or both; default combine'],
    ['--training-url URL', 'address of the service or of the trainer job, without /api/v1'],
    ['--training-model NAME', 'name of the model at the service; default that of --model'],
    ['--training-budget N', 'most tokens that the service may process in all'],
    ['--gpus N', 'only shown: the service or its trainer job fixes the number of GPUs'],
    ['--dry-run', 'check address, key, model and gradients, print the command, and start nothing'],
    ['--FLAG', 'any flag of clawloop up, such as --model Qwen/Qwen3-8B or --port 8700'],
  ],
  outlivesReader: true,
  run: async (argv) => {
    const plan = planDeploy(argv);
    const stop = new AbortController();
    const interrupt = () => stop.abort(new Error('stopped'));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
    console.log(`checking ${plan.settings.trainingUrl}; a check takes up to some minutes`);
    // The client of the service would make every other command start more slowly.
    const { checkService } = await import('../deploy/check-service.ts');
    const isFine = await checkService(plan, print, stop.signal).catch((error: unknown) => {
      if (stop.signal.aborted) return undefined;
      throw error;
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt);
    if (isFine === undefined) return 130;
    console.log(`${isFine ? 'ok   ' : 'next '} ${commandOf(plan)}`);
    if (!isFine) return 1;
    if (plan.settings.dryRun) return 0;
    return up.run(plan.flags);
  },
};

const print = ({ state, what, advice }: Finding): void =>
  console.log(`${state.padEnd(5)} ${what}${advice === undefined ? '' : `\n      -> ${advice}`}`);
