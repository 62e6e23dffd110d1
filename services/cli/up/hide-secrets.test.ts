import { expect, test } from 'vitest';
import { hideSecrets } from './hide-secrets.ts';

test('secrets move from the command line to the environment', () => {
  const flags = [
    '--port',
    '1',
    '--api-key',
    'k',
    '--hub-token',
    'hf_t',
    '--api-key-file',
    'f',
    '--kafka-ssl',
  ];
  expect(hideSecrets('serving', flags)).toEqual({
    flags: ['--port', '1', '--api-key-file', 'f', '--kafka-ssl'],
    secrets: { CLAWLOOP_SERVING_API_KEY: 'k', CLAWLOOP_HUB_TOKEN: 'hf_t' },
  });
  expect(hideSecrets('judge', ['--openai-api-key', 'o', '--redis-password', 'r', '--board-key'])).toEqual({
    flags: ['--board-key'], // its value is missing, which the service says
    secrets: { CLAWLOOP_JUDGE_OPENAI_API_KEY: 'o', CLAWLOOP_REDIS_PASSWORD: 'r' },
  });
  const ofTrainer = ['--training-api-key', 't', '--s3-secret-access-key', 's', '--checkpoints', 's3://b'];
  expect(hideSecrets('trainer', ofTrainer)).toEqual({
    flags: ['--checkpoints', 's3://b'],
    secrets: { CLAWLOOP_TRAINING_API_KEY: 't', CLAWLOOP_S3_SECRET_ACCESS_KEY: 's' },
  });
});
