/// <reference lib="esnext.float16" />
import { closeSync, openSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { setImmediate as breath } from 'node:timers/promises';
import { z } from 'zod';

/** One tensor on the host: `values` are row-major. */
export type TensorData = { readonly shape: readonly number[]; readonly values: Float32Array };

export type SafetensorsFile = {
  readonly names: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Throws if there is no tensor of that name. */
  shape(name: string): readonly number[];
  /** The type's name in the format: F32, BF16, I64 ... Throws if there is no tensor of that name. */
  type(name: string): string;
  /**
   * Reads one tensor from disk and widens it to f32, into `target` if given, which must have its size. Throws if
   * there is no tensor of that name.
   */
  float32(name: string, target?: Float32Array<ArrayBuffer>): Float32Array;
};

/** Bytes per element of the supported types; all three widen to f32 without loss. */
const elementBytes = { F32: 4, F16: 2, BF16: 2 } as const;
type StoredType = keyof typeof elementBytes;

/** The format's limit on the header, bytes. */
const maxHeaderBytes = 100_000_000;
/** Tensors are widened in pieces of this many bytes, so that a read needs little more memory than the result. */
const chunkBytes = 16 * 1024 * 1024;

const Entry = z.object({
  dtype: z.string(),
  shape: z.array(z.int().min(0)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});
type Entry = z.infer<typeof Entry>;

/**
 * Opens a file in safetensors format (8 bytes of header length, little-endian; a JSON header; the data). Reads only
 * the header; tensors are read on demand, so the file must not be moved.
 *
 * Throws an Error that names the file if it is truncated or its header is invalid.
 */
export async function readSafetensors(path: string): Promise<SafetensorsFile> {
  const { header, dataStart, dataBytes } = await readHeader(path);
  const { __metadata__: metadata = {}, ...rest } = header;
  const entries = new Map<string, Entry>();
  for (const [name, value] of Object.entries(rest)) {
    const entry = Entry.safeParse(value);
    if (!entry.success) throw new Error(`${path}: the header entry of "${name}" is malformed`);
    checkEntry(path, name, entry.data, dataBytes);
    entries.set(name, entry.data);
  }
  const find = (name: string): Entry => {
    const entry = entries.get(name);
    if (entry === undefined) throw new Error(`${path}: no tensor named "${name}"`);
    return entry;
  };
  return {
    names: [...entries.keys()].sort(),
    metadata: z.record(z.string(), z.string()).parse(metadata),
    shape: (name) => find(name).shape,
    type: (name) => find(name).dtype,
    float32: (name, target) => readTensor({ path, dataStart }, name, find(name), target),
  };
}

/** Reads all tensors; the thread can do other work between two of them. */
export async function readAllTensors(file: SafetensorsFile): Promise<ReadonlyMap<string, TensorData>> {
  const tensors = new Map<string, TensorData>();
  for (const name of file.names) {
    tensors.set(name, { shape: file.shape(name), values: file.float32(name) });
    await breath();
  }
  return tensors;
}

async function readHeader(path: string) {
  const { size } = await stat(path);
  const file = await open(path, 'r');
  try {
    const prefix = Buffer.alloc(8);
    if (size < 8 || (await file.read(prefix, 0, 8, 0)).bytesRead < 8) throw new Error(`${path} is truncated`);
    const length = Number(prefix.readBigUInt64LE());
    if (length > maxHeaderBytes || 8 + length > size)
      throw new Error(`${path} is not a safetensors file, or is truncated`);
    const text = Buffer.alloc(length);
    await file.read(text, 0, length, 8);
    const header: unknown = JSON.parse(text.toString('utf8'));
    return {
      header: z.record(z.string(), z.unknown()).parse(header),
      dataStart: 8 + length,
      dataBytes: size - 8 - length,
    };
  } finally {
    await file.close();
  }
}

function checkEntry(path: string, name: string, entry: Entry, dataBytes: number): void {
  const [start, end] = entry.data_offsets;
  if (end > dataBytes)
    throw new Error(`${path}: "${name}" ends after the end of the file, which is truncated`);
  if (!isStoredType(entry.dtype)) return; // a file may have other types; reading them throws
  const expected = elementCount(entry.shape) * elementBytes[entry.dtype];
  if (end - start !== expected)
    throw new Error(`${path}: "${name}" has ${end - start} bytes, expected ${expected}`);
}

function readTensor(
  { path, dataStart }: { readonly path: string; readonly dataStart: number },
  name: string,
  entry: Entry,
  target?: Float32Array<ArrayBuffer>,
): Float32Array {
  const { dtype } = entry;
  if (!isStoredType(dtype))
    throw new Error(`${path}: "${name}" is ${dtype}; only F32, F16 and BF16 are supported`);
  const length = elementCount(entry.shape);
  const values = target ?? new Float32Array(length);
  if (values.length !== length)
    throw new Error(`${path}: "${name}" has ${length} values, but the target has room for ${values.length}`);
  const [start, end] = entry.data_offsets;
  const file = openSync(path, 'r');
  try {
    if (dtype === 'F32') {
      readFully(
        path,
        file,
        new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
        dataStart + start,
      );
      return values;
    }
    const chunk = new ArrayBuffer(Math.min(chunkBytes, end - start));
    for (let at = start, index = 0; at < end; at += chunk.byteLength) {
      const bytes = Math.min(chunk.byteLength, end - at);
      readFully(path, file, new Uint8Array(chunk, 0, bytes), dataStart + at);
      if (dtype === 'F16') values.set(new Float16Array(chunk, 0, bytes / 2), index);
      else widenBfloat16(new Uint16Array(chunk, 0, bytes / 2), values, index);
      index += bytes / 2;
    }
    return values;
  } finally {
    closeSync(file);
  }
}

/** bf16 is the upper half of f32. */
function widenBfloat16(halves: Uint16Array, values: Float32Array, index: number): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < halves.length; i++) bits[index + i] = halves[i]! << 16;
}

function readFully(path: string, file: number, target: Uint8Array, position: number): void {
  for (let done = 0; done < target.length; ) {
    const length = Math.min(target.length - done, 2 ** 30); // one read call is limited to 2 GiB
    const count = readSync(file, target, done, length, position + done);
    if (count === 0) throw new Error(`${path} is truncated`);
    done += count;
  }
}

/**
 * Writes tensors as F32 or F16 (rounded to nearest even). Tensors and metadata are sorted by name, so the same
 * content gives the same bytes. The data starts at a multiple of 8 bytes, as other readers expect.
 *
 * Throws if the number of values does not match the shape, or if a finite value overflows F16.
 */
export async function writeSafetensors(
  path: string,
  tensors: ReadonlyMap<string, TensorData>,
  options: { readonly dtype: 'F32' | 'F16'; readonly metadata?: Readonly<Record<string, string>> },
): Promise<void> {
  const names = [...tensors.keys()].sort();
  for (const name of names) {
    const { shape, values } = tensors.get(name)!;
    if (values.length !== elementCount(shape))
      throw new Error(`"${name}": ${values.length} values for shape [${shape}]`);
  }
  const shapes = new Map(names.map((name) => [name, tensors.get(name)!.shape]));
  const header = safetensorsHeader(shapes, options.dtype, options.metadata);

  const file = await open(path, 'w');
  try {
    await file.writeFile(header);
    for (const name of names) await file.writeFile(encode(name, tensors.get(name)!.values, options.dtype));
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * The bytes before the data: the header's length, and the header padded to a multiple of 8. The data of all tensors
 * follows without gaps, in the order of `shapes`.
 */
export function safetensorsHeader(
  shapes: ReadonlyMap<string, readonly number[]>,
  dtype: StoredType,
  metadata?: Readonly<Record<string, string>>,
): Uint8Array {
  const header: Record<string, unknown> = {};
  if (metadata !== undefined) {
    header.__metadata__ = Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  let offset = 0;
  for (const [name, shape] of shapes) {
    const end = offset + elementCount(shape) * elementBytes[dtype];
    header[name] = { dtype, shape, data_offsets: [offset, end] };
    offset = end;
  }
  const text = Buffer.from(JSON.stringify(header), 'utf8');
  const padded = Buffer.alloc(Math.ceil(text.length / 8) * 8, ' ');
  text.copy(padded);
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([prefix, padded]);
}

function encode(name: string, values: Float32Array, dtype: 'F32' | 'F16'): Uint8Array {
  if (dtype === 'F32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const halves = new Float16Array(values);
  const overflow = halves.findIndex((half, i) => Number.isFinite(values[i]!) && !Number.isFinite(half));
  if (overflow !== -1) throw new Error(`"${name}": ${values[overflow]} overflows F16`);
  return new Uint8Array(halves.buffer);
}

const elementCount = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

export const isStoredType = (dtype: string): dtype is StoredType => Object.hasOwn(elementBytes, dtype);
