import { resolve } from 'node:path';
import type { Endpoint } from './readiness.ts';

export type { Endpoint };

/**
 * What a person needs to begin: where it listens, what to give a client, where the data is, what to look at.
 */
export function banner(
  { url, needsKey }: Endpoint,
  folder: string,
  { model, adapters }: { readonly model: string; readonly adapters: readonly string[] },
): string {
  const also = ['clawloop@base', ...adapters.slice(1).map((adapter) => `clawloop:${adapter}`)].join(', ');
  // Commands look in .clawloop unless told.
  const where = folder === resolve('.clawloop') ? '' : ` --data-folder ${folder}`;
  const authorization = needsKey ? ` -H 'authorization: Bearer KEY'` : '';
  const key = needsKey
    ? 'one of yours, in place of KEY below'
    : 'none needed on this machine (any text will do)';
  return `
ClawLoop is ready.

  endpoint   ${url}/v1        (OpenAI chat completions)
  model      clawloop                          (${model}; also ${also})
  api key    ${key}
  data       ${folder}

  curl ${url}/v1/chat/completions -H 'content-type: application/json'${authorization} \\
    -d '{"model":"clawloop","messages":[{"role":"user","content":"How do I pack for a weekend trip?"}]}'

  npx clawloop turns list --why${where}      what trained, what did not, and why
  npx clawloop policy list${where}           every version and what made it

Ctrl-C stops it.
`;
}
