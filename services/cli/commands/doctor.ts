import type { Command } from '../command.ts';
import { bucketAccess } from '../doctor/bucket-check.ts';
import {
  adapterHeads,
  diskGrowth,
  diskSpace,
  endpoint,
  type Finding,
  judgeExam,
  kindOfTraining,
  learningCautions,
  modelFiles,
  nativeBackend,
  nodeVersion,
  writableFolder,
} from '../doctor/checks.ts';
import { healthPorts } from '../doctor/health-ports.ts';
import { leftovers } from '../doctor/leftovers.ts';
import { openClawSettings } from '../doctor/openclaw.ts';
import { openClawFile } from '../openclaw/config.ts';
import { readOptions } from '../options.ts';
import { endpointHere } from '../up/endpoint-here.ts';
import { healthHere } from '../up/health-here.ts';

export const doctor: Command = {
  name: 'doctor',
  usage: '[--data-folder F] [--training lora|full]',
  about: 'check ports, backend, disk, model and OpenClaw settings, and suggest fixes',
  run: async (argv) => {
    const { settings, values } = readOptions(argv, { training: { type: 'string' } });
    const { dataFolder } = settings;
    const url = endpointHere(dataFolder);
    const findings: readonly Finding[] = [
      nodeVersion(),
      await nativeBackend(),
      await modelFiles(),
      await writableFolder(dataFolder),
      await diskSpace(dataFolder),
      ...(await bucketAccess(settings)),
      ...(await diskGrowth(settings)),
      ...(await leftovers(dataFolder)),
      ...(await kindOfTraining(settings, values.training)),
      ...(await adapterHeads(settings)),
      ...(await judgeExam(dataFolder)),
      ...(await learningCautions(settings)),
      await endpoint(url),
      ...(await healthPorts(healthHere(dataFolder))),
      ...(await openClawSettings(openClawFile(), url)),
    ];
    // several checks need the log, and may report the same reason
    const first = findings.filter(
      ({ what }, index) => findings.findIndex((other) => other.what === what) === index,
    );
    for (const { state, what, advice } of first) {
      console.log(`${state.padEnd(5)} ${what}${advice === undefined ? '' : `\n      -> ${advice}`}`);
    }
    return findings.some(({ state }) => state === 'bad') ? 1 : 0;
  },
};
