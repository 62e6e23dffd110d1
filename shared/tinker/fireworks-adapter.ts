import { AnyAnswer, SignedUrlsAnswer } from './answers.ts';
import type { CallOptions, Connection } from './connection.ts';
import { TinkerError } from './errors.ts';

const jobUrl = /^(https?:\/\/[^/]+)\/training\/v1\/rlorTrainerJobs\/([^/]+)\/([^/]+)\/*$/;

/** Longest id of a model there. */
const LONGEST_ID = 63;

/**
 * The files of an adapter that was saved for sampling on a dedicated trainer job of Fireworks: the checkpoint becomes a
 * model of the account, whose files have signed addresses. The model is removed again, because it costs storage.
 *
 * @throws NOT_ON_THIS_SERVER for another URL, such as that of serverless training; errors of the connection
 */
export async function promotedAdapterUrls(
  connection: Connection,
  checkpoint: { readonly path: string; readonly baseModel: string },
  options: CallOptions,
): Promise<{ readonly urls: Readonly<Record<string, string>>; readonly remove: () => Promise<void> }> {
  const { url } = connection.settings;
  const [, origin, account, job] = jobUrl.exec(url) ?? [];
  if (origin === undefined)
    throw TinkerError.NOT_ON_THIS_SERVER({
      dialect: 'fireworks',
      what: `the download of an adapter from ${url}; give the --training-url of a dedicated job, .../training/v1/rlorTrainerJobs/ACCOUNT/JOB`,
    });
  const name = checkpoint.path.split('/').at(-1)!;
  const id = `clawloop-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`.slice(0, LONGEST_ID);
  const model = `${origin}/v1/accounts/${account}/models/${id}`;
  const asked = { ...options, isRepeatable: true, isControl: true };
  const body = {
    output_model: `accounts/${account}/models/${id}`,
    trainer_job_id: `accounts/${account}/rlorTrainerJobs/${job}`,
    base_model: checkpoint.baseModel,
  };
  const promote = `${origin}/v1/accounts/${account}/checkpoints/${name}:promote`;
  await connection.call('POST', promote, AnyAnswer, body, asked);
  const files = await connection.call(
    'GET',
    `${model}:getDownloadEndpoint`,
    SignedUrlsAnswer,
    undefined,
    asked,
  );
  return {
    urls: files.filenameToSignedUrls,
    remove: async () => {
      const last = { ...asked, isEmpty: true };
      await connection.call('DELETE', model, AnyAnswer, undefined, last).catch(() => {});
    },
  };
}
