import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { referencePath } from '../testing/reference-fixtures.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'safetensors-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A file that is built by hand after the format's specification. */
async function writeByHand(header: unknown, data: Uint8Array): Promise<string> {
  const text = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(text.length));
  const path = join(folder, 'hand.safetensors');
  await writeFile(path, Buffer.concat([prefix, text, data]));
  return path;
}

test('f32, f16 and bf16 are widened without loss', async () => {
  const data = Buffer.alloc(20);
  data.writeFloatLE(-1.5, 0);
  data.writeFloatLE(Infinity, 4);
  // IEEE half: 1, the smallest subnormal 2^-24, -65504 (the largest), -0
  [0x3c00, 0x0001, 0xfbff, 0x8000].forEach((bits, i) => {
    data.writeUInt16LE(bits, 8 + 2 * i);
  });
  // bfloat16: pi rounded (0x4049), -2^-126
  [0x4049, 0x8080].forEach((bits, i) => {
    data.writeUInt16LE(bits, 16 + 2 * i);
  });
  const path = await writeByHand(
    {
      b: { dtype: 'BF16', shape: [2], data_offsets: [16, 20] },
      a: { dtype: 'F32', shape: [2, 1], data_offsets: [0, 8] },
      h: { dtype: 'F16', shape: [4], data_offsets: [8, 16] },
      __metadata__: { format: 'pt' },
    },
    data,
  );
  const file = await readSafetensors(path);
  expect(file.names).toEqual(['a', 'b', 'h']);
  expect(file.metadata).toEqual({ format: 'pt' });
  expect(file.shape('a')).toEqual([2, 1]);
  expect([...file.float32('a')]).toEqual([-1.5, Infinity]);
  expect([...file.float32('h')]).toEqual([1, 2 ** -24, -65504, -0]);
  expect([...file.float32('b')]).toEqual([3.140625, -(2 ** -126)]);
});

const values = Float32Array.from([0, -0, 1, 1 / 3, -65504, 1e-8, 2049, 2051]);
const tensors = new Map([
  ['z', { shape: [2, 4], values }],
  ['empty', { shape: [0, 3], values: new Float32Array(0) }],
  ['scalar', { shape: [], values: Float32Array.of(7) }],
]);

test('tensors are read back: f32 exactly, f16 rounded to nearest even', async () => {
  const path = join(folder, 'a.safetensors');
  await writeSafetensors(path, tensors, { dtype: 'F32', metadata: { version: '3' } });
  const exact = await readSafetensors(path);
  expect(exact.names).toEqual(['empty', 'scalar', 'z']);
  expect(exact.metadata).toEqual({ version: '3' });
  for (const [name, { shape, values: written }] of tensors) {
    expect(exact.shape(name)).toEqual(shape);
    expect(exact.float32(name)).toEqual(written);
  }
  await writeSafetensors(path, tensors, { dtype: 'F16' });
  const rounded = (await readSafetensors(path)).float32('z');
  // 2049 and 2051 lie half way between halves: to 2048 and 2052; 1e-8 is below half of 2^-24
  expect([...rounded]).toEqual([0, -0, 1, 0.333251953125, -65504, 0, 2048, 2052]);
});

test('equal tensors give equal bytes in any order, and the data is aligned', async () => {
  const [first, second] = [join(folder, 'a'), join(folder, 'b')];
  await writeSafetensors(first, tensors, { dtype: 'F32', metadata: { a: '1', b: '2' } });
  const reversed = new Map([...tensors].reverse());
  await writeSafetensors(second, reversed, { dtype: 'F32', metadata: { b: '2', a: '1' } });
  const bytes = await readFile(first);
  expect(bytes.equals(await readFile(second))).toBe(true);
  expect(Number(bytes.readBigUInt64LE(0)) % 8).toBe(0);
});

test('a tensor larger than one piece is read completely', async () => {
  const large = Float32Array.from({ length: 9_000_000 }, (_, i) => i % 2048);
  const path = join(folder, 'large');
  await writeSafetensors(path, new Map([['x', { shape: [9_000_000], values: large }]]), { dtype: 'F16' });
  const read = (await readSafetensors(path)).float32('x');
  expect(read.length).toBe(large.length);
  expect(read.every((value, i) => value === large[i])).toBe(true);
});

test('errors name the faulty file or tensor', async () => {
  const path = join(folder, 'a.safetensors');
  await writeSafetensors(path, tensors, { dtype: 'F32' });
  const whole = await readSafetensors(path);
  expect(() => whole.float32('absent')).toThrow('no tensor named "absent"');
  await truncate(path, (await readFile(path)).length - 1);
  await expect(readSafetensors(path)).rejects.toThrow('truncated');
  await truncate(path, 20);
  await expect(readSafetensors(path)).rejects.toThrow('truncated');
  const long = await writeByHand(
    { x: { dtype: 'F32', shape: [3], data_offsets: [0, 8] } },
    new Uint8Array(8),
  );
  await expect(readSafetensors(long)).rejects.toThrow('expected 12');
  const other = await readSafetensors(
    await writeByHand({ x: { dtype: 'I64', shape: [1], data_offsets: [0, 8] } }, new Uint8Array(8)),
  );
  expect(() => other.float32('x')).toThrow('is I64');
  const overflow = new Map([['x', { shape: [1], values: Float32Array.of(1e6) }]]);
  await expect(writeSafetensors(path, overflow, { dtype: 'F16' })).rejects.toThrow('overflows F16');
  const misshapen = new Map([['x', { shape: [2], values: Float32Array.of(1) }]]);
  await expect(writeSafetensors(path, misshapen, { dtype: 'F32' })).rejects.toThrow('1 values for shape [2]');
});

describe('reference', () => {
  test('a file of the safetensors library is written back byte by byte', async () => {
    const source = referencePath('models/llama-tiny/model.safetensors');
    const file = await readSafetensors(source);
    const copied = new Map(
      file.names.map((name) => [name, { shape: file.shape(name), values: file.float32(name) }]),
    );
    const path = join(folder, 'copy.safetensors');
    await writeSafetensors(path, copied, { dtype: 'F32', metadata: file.metadata });
    expect((await readFile(path)).equals(await readFile(source))).toBe(true);
  });
});
