import type { Command } from '../command.ts';
import {
  diskSpace,
  endpoint,
  type Finding,
  modelFiles,
  nativeBackend,
  nodeVersion,
  ports,
  writableFolder,
} from '../doctor/checks.ts';
import { readOptions } from '../options.ts';

export const doctor: Command = {
  name: 'doctor',
  usage: '[--data-folder F]',
  about: 'looks at ports, backend, disk and model, and says what to do',
  run: async (argv) => {
    const { dataFolder } = readOptions(argv, {}).settings;
    const findings: readonly Finding[] = [
      nodeVersion(),
      await nativeBackend(),
      await modelFiles(),
      await writableFolder(dataFolder),
      await diskSpace(dataFolder),
      await endpoint(),
      ...(await ports()),
    ];
    for (const { state, what, advice } of findings) {
      console.log(`${state.padEnd(5)} ${what}${advice === undefined ? '' : `\n      -> ${advice}`}`);
    }
    return findings.some(({ state }) => state === 'bad') ? 1 : 0;
  },
};
