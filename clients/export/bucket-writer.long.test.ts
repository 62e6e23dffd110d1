import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openBucket } from '../../shared/bucket/open-bucket.ts';
import { isStoreUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import { describeWithS3, newBucket } from '../../test/contract/with-s3.ts';
import { bucketWriter } from './bucket-writer.ts';

describeWithS3('an export into a bucket', (server) => {
  test('each session has an object, which no other process writes again', async () => {
    const { place, files } = await newBucket(server());
    const open = async () => {
      const writer = await bucketWriter(openBucket(place));
      onTestFinished(writer.close);
      return writer;
    };
    const [first, second] = [await open(), await open()];
    expect(await first.isWritten('a/b cook')).toBe(false);
    await first.write([{ a: 1 }, { b: 2 }], 'a/b cook');
    await first.write([], 'empty');
    expect(await first.isWritten('a/b cook')).toBe(true);
    await second.write([{ other: 1 }], 'a/b cook');
    const names = await readdir(files);
    expect(names).toHaveLength(1);
    expect(await readFile(join(files, names[0]!), 'utf8')).toBe('{"a":1}\n{"b":2}\n');
    expect(await (await open()).isWritten('a/b cook')).toBe(true);
    await server().kill();
    await expect(first.write([{ a: 1 }], 'later')).rejects.toSatisfy(isStoreUnavailable);
    await server().start();
    await first.write([{ a: 1 }], 'later');
    expect(await readdir(files)).toHaveLength(2);
  });
});
