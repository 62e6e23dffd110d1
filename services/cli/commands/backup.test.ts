import { expect, test } from 'vitest';
import { backup } from './backup.ts';

test('a backup of a deployment with a bucket is refused, with what to do', async () => {
  await expect(backup.run(['/nowhere/backup', '--checkpoints', 's3://claw/prefix'])).rejects.toThrow(
    /checkpoints are in s3:\/\/claw\/prefix, .* copy the bucket with its own tools/,
  );
});
