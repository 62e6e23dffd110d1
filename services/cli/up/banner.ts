import { folderFlag } from '../../../shared/runtime/data-folder.ts';
import type { Endpoint } from './readiness.ts';

export type { Endpoint };

/** The text at the start: endpoint, client settings, data folder, and first commands. */
export function banner(
  { url, needsKey }: Endpoint,
  folder: string,
  {
    model,
    adapters,
    consoleUrl,
  }: {
    readonly model: string;
    readonly adapters: readonly string[];
    readonly consoleUrl?: string | undefined;
  },
): string {
  const also = ['clawloop@base', ...adapters.slice(1).map((adapter) => `clawloop:${adapter}`)].join(', ');
  const where = folderFlag(folder);
  const authorization = needsKey ? ` -H 'authorization: Bearer KEY'` : '';
  const key = needsKey
    ? 'required: put your key in place of KEY below'
    : 'not required on this machine (any text works)';
  const consoleLine =
    consoleUrl === undefined
      ? ''
      : `  console    ${consoleUrl}           (chat, and see it learn, in a browser)\n`;
  return `
ClawLoop is ready.

${consoleLine}  endpoint   ${url}/v1        (OpenAI; for Anthropic's clients ${url})
  model      clawloop                          (${model}; also ${also})
  api key    ${key}
  data       ${folder}

  curl ${url}/v1/chat/completions -H 'content-type: application/json'${authorization} \\
    -d '{"model":"clawloop","messages":[{"role":"user","content":"How do I pack for a weekend trip?"}]}'

  npx clawloop turns list --why${where}      every turn: what trained, what did not, and why
  npx clawloop policy list${where}           every version and the batch behind it

Press Ctrl-C to stop.
`;
}
