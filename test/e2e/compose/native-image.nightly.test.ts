import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeStandIns } from '../../../infra/docker/stand-ins/make-stand-ins.ts';
import { whyNoContainers } from '../../../infra/docker/stand-ins/podman.ts';
import { type Deployment, openDeployment, removeLeftovers } from './deployment.ts';

const missing = whyNoContainers();
const name = 'the image with the native backend';

describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
  let deployment: Deployment;
  beforeAll(async () => {
    await removeLeftovers();
    deployment = await openDeployment(console.log, 'native');
    const { others } = await makeStandIns(console.log);
    await Promise.all([deployment.build(), others]);
  });
  afterAll(() => deployment?.remove());

  test('its services start, and the doctor finds TensorFlow in it', async () => {
    await deployment.up();
    const { code, stdout } = await deployment.clawloop('doctor');
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('native: TensorFlow');
  });
});
