import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { whyNoS3 } from '../../infra/s3/jar.ts';
import { type S3Server, startS3 } from '../../infra/s3/start-s3.ts';
import type { BucketPlace, CheckpointsConfig } from '../../shared/config/checkpoints.ts';
import { bucketPlace } from '../../shared/config/checkpoints.ts';

export type TestBucket = {
  readonly server: S3Server;
  readonly place: BucketPlace;
  readonly config: CheckpointsConfig;
  /** folder with a file per object */
  readonly files: string;
};

/**
 * Runs a suite with a real S3 server. Without Java or Maven, the suite is skipped and its name gives the reason; with
 * CLAWLOOP_REQUIRE_ALL=1 it fails.
 */
export function describeWithS3(name: string, suite: (server: () => S3Server) => void): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoS3();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    let server: S3Server | undefined;
    beforeAll(async () => {
      server = await startS3();
    }, 120_000);
    afterAll(() => server?.close());
    suite(() => server!);
  });
}

let buckets = 0;

/** A new bucket, and settings that name a prefix in it. */
export async function newBucket(server: S3Server): Promise<TestBucket> {
  const bucket = `bucket-${process.pid}-${++buckets}`;
  await mkdir(join(server.buckets, bucket));
  const config: CheckpointsConfig = {
    checkpoints: `s3://${bucket}/of/tests`,
    s3Endpoint: server.url,
    s3AccessKeyId: server.accessKeyId,
    s3SecretAccessKey: server.secretAccessKey,
  };
  const place = bucketPlace(config, {}) as BucketPlace;
  return { server, config, place, files: join(server.buckets, bucket, 'of', 'tests') };
}
