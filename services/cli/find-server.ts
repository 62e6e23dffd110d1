import { originOf, request } from '../../clients/api-client.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { endpointHere } from './up/endpoint-here.ts';

/**
 * The address (without /v1) of a server with the session protocol, and whether it answers.
 *
 * @param named address from the command line; undefined: the server of the data folder
 * @throws UsageError when another kind of server answers
 */
export async function findServer(
  named: string | undefined,
  dataFolder: string,
  signal: AbortSignal,
): Promise<{ readonly url: string; readonly answers: boolean }> {
  const url = originOf(named ?? endpointHere(dataFolder));
  const answer = await request(`${url}/health`, undefined, undefined, signal);
  if (answer.kind === 'refused')
    throw new UsageError(`the server at ${url} is not a ClawLoop with sessions: status ${answer.status}`);
  return { url, answers: answer.kind === 'answer' };
}
