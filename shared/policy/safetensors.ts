/// <reference lib="esnext.float16" />
import { closeSync, openSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { setImmediate as breath } from 'node:timers/promises';
import { z } from 'zod';

/** One tensor on the host: `values` holds the product of `shape` numbers, row-major. */
export type TensorData = { readonly shape: readonly number[]; readonly values: Float32Array };

export type SafetensorsFile = {
  readonly names: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Throws when there is no tensor of that name. */
  shape(name: string): readonly number[];
  /** As the file names it: F32, BF16, I64 ... Throws when there is no tensor of that name. */
  type(name: string): string;
  /**
   * Reads one tensor from disk and widens it to f32, into `target` where one of its size is given. Throws
   * when
   * there is no tensor of that name.
   */
  float32(name: string, target?: Float32Array<ArrayBuffer>): Float32Array;
};

/** Bytes per element of the types that are read; all three widen to f32 without loss. */
const elementBytes = { F32: 4, F16: 2, BF16: 2 } as const;
type StoredType = keyof typeof elementBytes;

/** The format's own limit on the header, bytes. */
const maxHeaderBytes = 100_000_000;
/**
 * Tensors are widened in pieces of this many bytes, so that reading one needs little more than its f32 size.
 */
const chunkBytes = 16 * 1024 * 1024;

const Entry = z.object({
  dtype: z.string(),
  shape: z.array(z.int().min(0)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});
type Entry = z.infer<typeof Entry>;

/**
 * Opens a file of the safetensors format (8 bytes of header length, little-endian; a JSON header; the data).
 * Only the header is read here; a tensor is read when it is asked for. The file must stay where it is.
 *
 * Throws an Error that names the file when it is cut off or its header is not sound.
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
    float32: (name, target) => readTensor(path, name, find(name), dataStart, target),
  };
}

/** Reads every tensor; between two of them the thread does what else it has to do. */
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
    if (size < 8 || (await file.read(prefix, 0, 8, 0)).bytesRead < 8) throw new Error(`${path}: cut off`);
    const length = Number(prefix.readBigUInt64LE());
    if (length > maxHeaderBytes || 8 + length > size)
      throw new Error(`${path}: not a safetensors file, or cut off`);
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
  if (end > dataBytes) throw new Error(`${path}: "${name}" ends after the end of the file; it was cut off`);
  if (!isStoredType(entry.dtype)) return; // other types may stand in the file; reading one throws
  const expected = elementCount(entry.shape) * elementBytes[entry.dtype];
  if (end - start !== expected)
    throw new Error(`${path}: "${name}" has ${end - start} bytes, expected ${expected}`);
}

function readTensor(
  path: string,
  name: string,
  entry: Entry,
  dataStart: number,
  target?: Float32Array<ArrayBuffer>,
): Float32Array {
  const { dtype } = entry;
  if (!isStoredType(dtype))
    throw new Error(`${path}: "${name}" is ${dtype}; only F32, F16 and BF16 can be read`);
  const length = elementCount(entry.shape);
  const values = target ?? new Float32Array(length);
  if (values.length !== length)
    throw new Error(`${path}: "${name}" has ${length} values, there is room for ${values.length}`);
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
    if (count === 0) throw new Error(`${path}: cut off`);
    done += count;
  }
}

/**
 * Writes tensors as F32 or F16 (rounded to nearest even). The same tensors and metadata give the same bytes:
 * tensors and metadata stand in order of their names. The data starts at a multiple of 8 bytes, as other
 * readers like it.
 *
 * Throws when a value count does not fit its shape, and when a finite value overflows F16.
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
 * The bytes before the data: the header's length and the header, padded to a multiple of 8. The data of all
 * tensors follow without gaps in the order of `shapes`.
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
  if (overflow !== -1) throw new Error(`"${name}": ${values[overflow]} does not fit F16`);
  return new Uint8Array(halves.buffer);
}

const elementCount = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

export const isStoredType = (dtype: string): dtype is StoredType => Object.hasOwn(elementBytes, dtype);
