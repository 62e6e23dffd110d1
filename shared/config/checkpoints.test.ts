import { expect, test } from 'vitest';
import { bucketPlace } from './checkpoints.ts';
import { loadConfig, printableConfig } from './common.ts';
import { TrainerConfig } from './trainer.ts';

const keys = { s3AccessKeyId: 'id', s3SecretAccessKey: 'secret' };
const aws = { AWS_ACCESS_KEY_ID: 'theirs', AWS_SECRET_ACCESS_KEY: 'hidden', AWS_SESSION_TOKEN: 'token' };

test('without a bucket there is none', () => {
  expect(bucketPlace({}, aws)).toBeUndefined();
});

test('a bucket of Amazon is in the host, one of another store in the path', () => {
  expect(bucketPlace({ checkpoints: 's3://claw/a/b/', ...keys }, { AWS_REGION: 'eu-west-1' })).toEqual({
    name: 's3://claw/a/b',
    url: 'https://claw.s3.eu-west-1.amazonaws.com',
    prefix: 'a/b/',
    region: 'eu-west-1',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    sessionToken: undefined,
  });
  const own = { checkpoints: 's3://claw', s3Endpoint: 'http://store:9000/', ...keys };
  expect(bucketPlace(own, {})).toMatchObject({ url: 'http://store:9000/claw', prefix: '' });
  expect(bucketPlace({ ...own, s3PathStyle: false }, {})).toMatchObject({ url: 'http://claw.store:9000' });
});

test("Amazon's variables give a key that no setting gives, and are never mixed with one", () => {
  const config = { checkpoints: 's3://claw' };
  expect(bucketPlace(config, aws)).toMatchObject({
    accessKeyId: 'theirs',
    secretAccessKey: 'hidden',
    sessionToken: 'token',
  });
  expect(bucketPlace({ ...config, ...keys }, aws)).toMatchObject({
    accessKeyId: 'id',
    sessionToken: undefined,
  });
  expect(bucketPlace({ ...config, s3AccessKeyId: 'id' }, aws)).toMatch(/is not complete/);
  expect(bucketPlace(config, {})).toMatch(/CLAWLOOP_S3_SECRET_ACCESS_KEY/);
});

test('the line that a service logs at start shows no secret', () => {
  const env = {
    CLAWLOOP_CHECKPOINTS: 's3://claw/prefix',
    CLAWLOOP_S3_ACCESS_KEY_ID: 'key-id',
    CLAWLOOP_S3_SECRET_ACCESS_KEY: 'very-secret',
    CLAWLOOP_S3_SESSION_TOKEN: 'also-secret',
  };
  const shown = printableConfig(loadConfig('trainer', TrainerConfig, [], env));
  expect(shown.checkpoints).toBe('"s3://claw/prefix" (env)');
  expect(JSON.stringify(shown)).not.toMatch(/key-id|secret"|very|also/);
});

test.each(['claw', 's3://', 's3://Claw', 's3://claw/a b', 's3://claw//a', 'https://claw'])(
  '%s names no bucket',
  (checkpoints) => {
    expect(() => loadConfig('trainer', TrainerConfig, ['--checkpoints', checkpoints], {})).toThrow(
      'must be s3://BUCKET or s3://BUCKET/PREFIX',
    );
  },
);
