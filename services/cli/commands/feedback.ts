import { type Command, UsageError } from '../command.ts';
import { endpointSettings } from '../config.ts';
import { readOptions } from '../options.ts';
import { originOf } from '../rl-client.ts';
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
  about: 'rate an answer; it outranks the judge',
  details: [
    ['--reward NUMBER', '-1 to 1, instead of up or down'],
    ['--comment TEXT', 'what would have been better: a hint for training'],
    ['--url URL', 'of the endpoint; where the one of the data folder listens unless told'],
    ['--key KEY', 'access key; CLAWLOOP_SERVING_API_KEY unless told'],
  ],
  run: async (argv) => {
    const { values, words, settings } = readOptions(argv, options);
    const [completionId, rating] = words;
    if (completionId === undefined || (rating === undefined) === (values.reward === undefined))
      throw new UsageError('feedback COMPLETION_ID, then up, down or --reward NUMBER');
    const isNumber = values.reward?.trim() !== '' && Math.abs(Number(values.reward)) <= 1;
    if (values.reward !== undefined && !isNumber)
      throw new UsageError(`--reward must be a number from -1 to 1, not '${values.reward}'`);
    const key = values.key ?? endpointSettings([]).apiKey;
    const url = originOf(values.url ?? endpointHere(settings.dataFolder));
    const response = await fetch(`${url}/v1/feedback`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({
        completion_id: completionId,
        ...(rating === undefined ? { reward: Number(values.reward) } : { rating }),
        ...(values.comment === undefined ? {} : { comment: values.comment }),
      }),
    }).catch((error: Error) => {
      throw new UsageError(
        `no answer from ${url}: ${(error.cause as Error | undefined)?.message ?? error.message}`,
      );
    });
    const answer = (await response.json().catch(() => undefined)) as
      | { readonly error?: { readonly message?: string }; readonly effect?: string }
      | undefined;
    const otherwise = `what answers at ${url} is no ClawLoop: status ${response.status}`;
    if (!response.ok || answer === undefined) throw new UsageError(answer?.error?.message ?? otherwise);
    const counts =
      answer.effect === 'reward-of-session' ? 'it counts at the end of its session' : 'it is the verdict now';
    console.log(`noted: ${counts}`);
    return 0;
  },
};
