import { z } from 'zod';
import { hasNoCredentials } from './logged-url.ts';

/** Where checkpoints are kept. Serving, the trainer and the commands take these settings. */
export const CheckpointsConfig = z.object({
  checkpoints: z
    .string()
    .regex(
      /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[\w.-]+)*\/?$/,
      'must be s3://BUCKET or s3://BUCKET/PREFIX',
    )
    .optional()
    .describe(
      's3://BUCKET/PREFIX: keep checkpoints in a bucket, so that hosts need no shared folder; default: the data folder alone',
    ),
  s3Endpoint: z
    .url({ protocol: /^https?$/ })
    .refine(hasNoCredentials, 'give the secret as s3SecretAccessKey, because the URL is logged')
    .optional()
    .describe('s3: address of the object storage; default: Amazon S3 in the region'),
  s3Region: z.string().min(1).optional().describe('s3: region; default AWS_REGION, otherwise us-east-1'),
  s3PathStyle: z
    .boolean()
    .optional()
    .describe('s3: name the bucket in the path of the address, not in its host; default: with s3Endpoint'),
  s3AccessKeyId: z.string().min(1).optional().describe('s3: access key id; default AWS_ACCESS_KEY_ID'),
  s3SecretAccessKey: z
    .string()
    .min(1)
    .optional()
    .describe('s3: secret access key; default AWS_SECRET_ACCESS_KEY. `ps` shows the flag, not the variable'),
  s3SessionToken: z
    .string()
    .min(1)
    .optional()
    .describe('s3: token of a temporary access key; default AWS_SESSION_TOKEN with the AWS variables'),
});
export type CheckpointsConfig = z.output<typeof CheckpointsConfig>;

/** A bucket, and how to reach it. */
export type BucketPlace = {
  /** `s3://BUCKET/PREFIX`, for messages */
  readonly name: string;
  /** URL of the bucket, without a slash at the end */
  readonly url: string;
  /** begins each key; empty, or ends with a slash */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
};

/**
 * The bucket that the settings name, with defaults from Amazon's own environment variables. Undefined: none; a text:
 * what is missing.
 */
export function bucketPlace(
  config: CheckpointsConfig,
  env: NodeJS.ProcessEnv = process.env,
): BucketPlace | string | undefined {
  if (config.checkpoints === undefined) return undefined;
  const [bucket = '', ...folders] = config.checkpoints
    .slice('s3://'.length)
    .split('/')
    .filter((part) => part !== '');
  const region = config.s3Region ?? (env.AWS_REGION || 'us-east-1');
  const keys =
    config.s3AccessKeyId === undefined && config.s3SecretAccessKey === undefined
      ? { id: env.AWS_ACCESS_KEY_ID, secret: env.AWS_SECRET_ACCESS_KEY, token: env.AWS_SESSION_TOKEN }
      : { id: config.s3AccessKeyId, secret: config.s3SecretAccessKey, token: undefined };
  if (!keys.id || !keys.secret)
    return (
      `${config.checkpoints} is a bucket, but its access key is not complete: set CLAWLOOP_S3_ACCESS_KEY_ID and ` +
      'CLAWLOOP_S3_SECRET_ACCESS_KEY, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
    );
  const endpoint = new URL(config.s3Endpoint ?? `https://s3.${region}.amazonaws.com`);
  const path = endpoint.pathname.replace(/\/+$/, '');
  const url =
    (config.s3PathStyle ?? config.s3Endpoint !== undefined)
      ? `${endpoint.origin}${path}/${bucket}`
      : `${endpoint.protocol}//${bucket}.${endpoint.host}${path}`;
  return {
    name: ['s3:/', bucket, ...folders].join('/'),
    url,
    prefix: folders.map((folder) => `${folder}/`).join(''),
    region,
    accessKeyId: keys.id,
    secretAccessKey: keys.secret,
    sessionToken: config.s3SessionToken ?? (keys.token || undefined),
  };
}
