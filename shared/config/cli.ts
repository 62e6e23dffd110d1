import type { z } from 'zod';
import { CheckpointsConfig } from './checkpoints.ts';
import { CommonConfig } from './common.ts';
import { LogConfig } from './log.ts';

/** Settings of every command: data folder, adapters and log. */
export const CliConfig = CommonConfig.pick({ dataFolder: true })
  .extend({
    adapters: CommonConfig.shape.adapters
      .unwrap()
      .optional()
      .describe('adapters that the command applies to, separated by commas; default: all in the log'),
  })
  .extend(CheckpointsConfig.shape)
  .extend(LogConfig.shape);
export type CliConfig = z.output<typeof CliConfig>;
