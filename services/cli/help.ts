import type { z } from 'zod';
import { CliConfig } from '../../shared/config/cli.ts';
import { CommonConfig, settingRows } from '../../shared/config/common.ts';
import type { Command } from './command.ts';

export const isHelp = (word: string): boolean => word === '--help' || word === '-h';

const WIDTH = 32;

/** `clawloop help`. */
export const helpOfAll = (commands: readonly Command[]): string =>
  `clawloop COMMAND [options]\n\n${rowsOf(
    commands.map(({ name, usage, about }) => [`${name} ${usage}`, about]),
    48,
  )}\n\nSee clawloop COMMAND --help for details. Every command takes the same flags for the data folder and the log.\n`;

/** `clawloop COMMAND --help`: the command's own flags, then those that all commands share. */
export function helpOf({ name, usage, about, details = [] }: Command): string {
  const ownRows = details.length === 0 ? '' : `\n${rowsOf(details, WIDTH)}\n`;
  return `clawloop ${name} ${usage}\n${about}\n${ownRows}\nData folder and log:\n${common(CliConfig)}\n`;
}

/** `clawloop up --help`: its flags go to the services. */
export const helpOfUp = ({ name, usage, about, details = [] }: Command): string =>
  `clawloop ${name} ${usage}\n${about}\n\n${rowsOf(details, WIDTH)}\n\nFor all services:\n${common(CommonConfig)}\n`;

const common = (schema: z.ZodObject): string => settingRows('cli', schema);

/** Two columns; a long left cell gets a separate line. */
const rowsOf = (rows: readonly (readonly [string, string])[], width: number): string =>
  rows
    .map(([left, right]) => {
      const gap = left.length <= width ? ' '.repeat(width - left.length + 1) : `\n${' '.repeat(width + 3)}`;
      return `  ${left}${gap}${right}`;
    })
    .join('\n');
