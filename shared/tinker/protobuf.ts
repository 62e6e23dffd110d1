import { PbfReader, PbfWriter } from 'pbf';
import type { Datum, Tensor } from './datum.ts';

// The messages of the training calls, package tinker_public. Numbers are little-endian, as on every machine that Node
// runs on.

export type TrainingCall = {
  readonly modelId: string;
  readonly sequence: number;
  readonly loss: string;
  readonly datums: readonly Datum[];
  readonly forwardOnly: boolean;
};

/** message ForwardBackwardRequest */
export function encodeTrainingCall({
  modelId,
  sequence,
  loss,
  datums,
  forwardOnly,
}: TrainingCall): Uint8Array {
  const writer = new PbfWriter();
  stringField(writer, 1, modelId);
  writer.writeTag(2, VARINT);
  writer.writeVarint(sequence);
  for (const datum of datums) writer.writeMessage(3, writeDatum, datum);
  stringField(writer, 4, loss);
  if (forwardOnly) {
    writer.writeTag(6, VARINT);
    writer.writeBoolean(true);
  }
  return writer.finish();
}

const VARINT = 0;
const BYTES = 2;
/** enum DType */
const FLOAT32 = 1;
const INT64 = 2;
const BFLOAT16 = 4;

function writeDatum({ tokens, inputs }: Datum, writer: PbfWriter): void {
  writer.writeMessage(1, writeChunk, tokens);
  for (const entry of inputs) writer.writeMessage(2, writeEntry, entry);
}

/** message Chunk with an EncodedTextChunk */
const writeChunk = (tokens: readonly number[], writer: PbfWriter): void =>
  writer.writeMessage(1, (ids, text) => bytesField(text, 1, bytesOf(Int32Array.from(ids))), tokens);

function writeEntry([name, tensor]: readonly [string, Tensor], writer: PbfWriter): void {
  stringField(writer, 1, name);
  writer.writeMessage(2, writeTensor, tensor);
}

function writeTensor({ data, dtype, shape }: Tensor, writer: PbfWriter): void {
  const values = dtype === 'float32' ? Float32Array.from(data) : BigInt64Array.from(data, BigInt);
  bytesField(writer, 1, bytesOf(values));
  writer.writeTag(3, VARINT);
  writer.writeVarint(dtype === 'float32' ? FLOAT32 : INT64);
  writer.writePackedVarint(4, [...shape]);
}

function stringField(writer: PbfWriter, field: number, text: string): void {
  writer.writeTag(field, BYTES);
  writer.writeString(text);
}

function bytesField(writer: PbfWriter, field: number, bytes: Uint8Array): void {
  writer.writeTag(field, BYTES);
  writer.writeBytes(bytes);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A copy, because the bytes may not be aligned. */
const aligned = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

/**
 * message ForwardBackwardOutput: the log-probs of each datum, all its targets in a row; undefined: it has none.
 *
 * @throws Error if the bytes are no such message
 */
export function decodeLogProbs(bytes: Uint8Array): readonly (Float32Array | undefined)[] {
  const records: Float32Array[][] = [];
  let isWhole = true;
  new PbfReader(bytes).readFields((field, _, reader) => {
    if (field !== 2) return;
    const record = reader.readMessage(readRecord, { count: 0, logProbs: undefined });
    if (record.logProbs === undefined) isWhole = false;
    records.push(record.logProbs === undefined ? [] : split(record.logProbs, record.count));
  }, undefined);
  return isWhole ? records.flat() : records.map(() => undefined);
}

type Batched = { data: Uint8Array; offsets: Uint8Array; dtype: number };
type ArrayRecord = { count: number; logProbs: Batched | undefined };

function readRecord(field: number, record: ArrayRecord, reader: PbfReader): void {
  if (field === 3) record.count = reader.readVarint();
  if (field !== 2) return;
  const entry = reader.readMessage(readRecordEntry, { name: '', value: undefined });
  if (entry.name === 'logprobs') record.logProbs = entry.value;
}

type RecordEntry = { name: string; value: Batched | undefined };

function readRecordEntry(field: number, entry: RecordEntry, reader: PbfReader): void {
  if (field === 1) entry.name = reader.readString();
  if (field === 2)
    entry.value = reader.readMessage(readBatched, {
      data: new Uint8Array(),
      offsets: new Uint8Array(),
      dtype: 0,
    });
}

function readBatched(field: number, batched: Batched, reader: PbfReader): void {
  if (field === 1) batched.data = reader.readBytes();
  if (field === 2) batched.offsets = reader.readBytes();
  if (field === 3) batched.dtype = reader.readVarint();
}

/** `offsets`: count + 1 places in `data`, in bytes. */
function split({ data, offsets, dtype }: Batched, count: number): Float32Array[] {
  const places = Array.from(new BigInt64Array(aligned(offsets)), Number);
  if (places.length !== count + 1) throw new Error(`${places.length} offsets for ${count} datums`);
  return Array.from({ length: count }, (_, index) =>
    floatsOf(data.subarray(places[index]!, places[index + 1]!), dtype),
  );
}

function floatsOf(bytes: Uint8Array, dtype: number): Float32Array {
  if (dtype === FLOAT32) return new Float32Array(aligned(bytes));
  if (dtype !== BFLOAT16) throw new Error(`log-probs of type ${dtype}`);
  const halves = new Uint16Array(aligned(bytes));
  const words = Uint32Array.from(halves, (half) => half * 2 ** 16);
  return new Float32Array(words.buffer);
}

export type DecodedTopTokens = {
  /** [length * k] */
  readonly ids: Int32Array;
  readonly logProbs: Float32Array;
  readonly k: number;
};

/** message SampleResponse: the most likely tokens of each prompt position. @throws Error without them */
export function decodeTopTokens(bytes: Uint8Array): DecodedTopTokens {
  const found = { ids: new Int32Array(), logProbs: new Float32Array(), k: 0 };
  new PbfReader(bytes).readFields((field, _, reader) => {
    if (field !== 3) return;
    reader.readMessage((inner, top, message) => {
      if (inner === 1) top.ids = new Int32Array(aligned(message.readBytes()));
      if (inner === 2) top.logProbs = new Float32Array(aligned(message.readBytes()));
      if (inner === 3) top.k = message.readVarint();
    }, found);
  }, undefined);
  if (found.k === 0 || found.ids.length !== found.logProbs.length) throw new Error('no topk_prompt_logprobs');
  return found;
}
