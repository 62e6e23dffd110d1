import { type Client, type ClientName, clientNames } from '../client.ts';
import { aider } from './aider.ts';
import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import { codex } from './codex.ts';
import { continueCli } from './continue.ts';
import { kilo, opencode } from './opencode.ts';
import { qwenCode } from './qwen-code.ts';

const all = [codex, claudeCode, opencode, aider, qwenCode, cline, continueCli, kilo];

/** The named clients, separated by commas; default: all. @throws for an unknown name */
export function clientsNamed(names: string | undefined): readonly Client[] {
  if (names === undefined || names === '') return all;
  return names.split(',').map((name) => {
    const client = all.find((one) => one.name === (name.trim() as ClientName));
    if (client === undefined) throw new Error(`no client ${name}; there are ${clientNames.join(', ')}`);
    return client;
  });
}
