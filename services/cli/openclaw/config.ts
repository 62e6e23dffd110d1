import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where OpenClaw keeps its settings, by OpenClaw's own variables. */
export function openClawFile(environment: NodeJS.ProcessEnv = process.env): string {
  const { OPENCLAW_CONFIG_PATH: file, OPENCLAW_STATE_DIR: folder } = environment;
  return file || join(folder || join(homedir(), '.openclaw'), 'openclaw.json');
}
