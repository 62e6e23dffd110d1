import { expect, test } from 'vitest';
import { childEnvironment } from './child-environment.ts';

test('a child has the paths, language and certificates of its parent, and no setting or secret', () => {
  const env = {
    PATH: '/bin',
    LC_ALL: 'C',
    TZ: 'UTC',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    NODE_CHANNEL_FD: '3',
    CLAWLOOP_SERVING_API_KEY: 'secret',
    CLAWLOOP_DATA_FOLDER: '/theirs',
    CLOUD_TOKEN: 'secret',
  };
  expect(childEnvironment({ CLAWLOOP_DATA_FOLDER: '/ours' }, env)).toEqual({
    PATH: '/bin',
    LC_ALL: 'C',
    TZ: 'UTC',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    CLAWLOOP_DATA_FOLDER: '/ours',
  });
});
