import { homedir } from 'node:os';
import { join } from 'node:path';

/** OpenClaw's settings file, by OpenClaw's own environment variables. */
export function openClawFile(environment: NodeJS.ProcessEnv = process.env): string {
  const { OPENCLAW_CONFIG_PATH: file, OPENCLAW_STATE_DIR: folder } = environment;
  return file || join(folder || join(homedir(), '.openclaw'), 'openclaw.json');
}
