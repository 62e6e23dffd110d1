import type { z } from 'zod';
import { CommonConfig, settingRows } from '../../shared/service/config.ts';
import type { Command } from './command.ts';
import { CliConfig } from './config.ts';

export const isHelp = (word: string): boolean => word === '--help' || word === '-h';

const WIDTH = 32;

/** `clawloop help`. */
export const helpOfAll = (commands: readonly Command[]): string =>
  `clawloop COMMAND [options]\n\n${rowsOf(
    commands.map(({ name, usage, about }) => [`${name} ${usage}`, about]),
    48,
  )}\n\nclawloop COMMAND --help says more. Every command takes the flags of its log, as the services do.\n`;

/** `clawloop COMMAND --help`: its own flags, and those that all commands share. */
export function helpOf({ name, usage, about, details = [] }: Command): string {
  const own = details.length === 0 ? '' : `\n${rowsOf(details, WIDTH)}\n`;
  return `clawloop ${name} ${usage}\n${about}\n${own}\nWhere the data and the log are:\n${common(CliConfig)}\n`;
}

/** Of `up`, whose flags go to the services. */
export const helpOfUp = ({ name, usage, about, details = [] }: Command): string =>
  `clawloop ${name} ${usage}\n${about}\n\n${rowsOf(details, WIDTH)}\n\nFor all services:\n${common(CommonConfig)}\n`;

const common = (schema: z.ZodObject): string => settingRows('cli', schema);

const rowsOf = (rows: readonly (readonly [string, string])[], width: number): string =>
  rows.map(([left, right]) => `  ${left.padEnd(width)} ${right}`).join('\n');
