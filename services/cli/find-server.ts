import { UsageError } from './command.ts';
import { originOf, request } from './rl-client.ts';
import { endpointHere } from './up/endpoint-here.ts';

/**
 * The address of a server that speaks the session protocol, without /v1, and whether it answers.
 *
 * @param named as a person gave it; else where the one of the data folder listens
 * @throws UsageError where something else answers
 */
export async function findServer(
  named: string | undefined,
  dataFolder: string,
  signal: AbortSignal,
): Promise<{ readonly url: string; readonly answers: boolean }> {
  const url = originOf(named ?? endpointHere(dataFolder));
  const answer = await request(`${url}/health`, undefined, undefined, signal);
  if (answer.kind === 'refused')
    throw new UsageError(`what answers at ${url} is no ClawLoop with sessions: status ${answer.status}`);
  return { url, answers: answer.kind === 'answer' };
}
