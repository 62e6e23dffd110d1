import { originOf } from '../../../clients/api-client.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { Command } from '../command.ts';
import { endpointSettings } from '../config.ts';
import { readOptions } from '../options.ts';
import { endpointHere } from '../up/endpoint-here.ts';

const options = {
  comment: { type: 'string' },
  reward: { type: 'string' },
  url: { type: 'string' },
  key: { type: 'string' },
} as const;

export const feedback: Command = {
  name: 'feedback',
  usage: 'COMPLETION_ID up | down | --reward 0.5',
  about: 'rate an answer; the rating outranks the judge',
  details: [
    ['--reward NUMBER', 'a number from -1 to 1 instead of up or down'],
    ['--comment TEXT', 'what would have been better; a hint for training'],
    ['--url URL', 'URL of the endpoint; default: the server of the data folder'],
    ['--key KEY', 'access key; default: CLAWLOOP_SERVING_API_KEY'],
  ],
  run: async (argv) => {
    const { values, words, settings } = readOptions(argv, options, 2);
    const [completionId, rating] = words;
    if (completionId === undefined || (rating === undefined) === (values.reward === undefined))
      throw new UsageError('give COMPLETION_ID and one of up, down or --reward NUMBER');
    const isNumber = values.reward?.trim() !== '' && Math.abs(Number(values.reward)) <= 1;
    if (values.reward !== undefined && !isNumber)
      throw new UsageError(`--reward must be a number from -1 to 1, not '${values.reward}'`);
    const key = values.key ?? endpointSettings([]).apiKey;
    const url = originOf(values.url ?? endpointHere(settings.dataFolder));
    const response = await fetch(`${url}/v1/feedback`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...defined({ authorization: key === undefined ? undefined : `Bearer ${key}` }),
      },
      body: JSON.stringify({
        completion_id: completionId,
        ...(rating === undefined ? { reward: Number(values.reward) } : { rating }),
        ...defined({ comment: values.comment }),
      }),
    }).catch((error: Error) => {
      throw new UsageError(
        `no answer from ${url}: ${(error.cause as Error | undefined)?.message ?? error.message}`,
      );
    });
    const answer = (await response.json().catch(() => undefined)) as
      | { readonly error?: { readonly message?: string }; readonly effect?: string }
      | undefined;
    const otherServer = `the server at ${url} is not a ClawLoop: status ${response.status}`;
    if (!response.ok || answer === undefined) throw new UsageError(answer?.error?.message ?? otherServer);
    const effect =
      answer.effect === 'reward-of-session' ? 'it counts when the session ends' : 'it is now the verdict';
    console.log(`recorded: ${effect}`);
    return 0;
  },
};
