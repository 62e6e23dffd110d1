import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installPackage, openClawCache } from '../install.ts';

const QWEN_PLUGIN_VERSION = '2026.9.4';
const folder = `qwen-provider-${QWEN_PLUGIN_VERSION}`;
/** Where OpenClaw loads the plugin from. */
export const qwenPlugin = join(openClawCache, folder, 'node_modules/@openclaw/qwen-provider');

/** Installs the official plugin for provider id `qwen`, without its peer OpenClaw. An installed plugin stays. */
export async function installQwenPlugin(): Promise<void> {
  if (existsSync(qwenPlugin)) return;
  await installPackage(folder, `@openclaw/qwen-provider@${QWEN_PLUGIN_VERSION}`, ['--legacy-peer-deps']);
}
