import { PbfReader, PbfWriter } from 'pbf';
import type { FakeDatum } from './trained-models.ts';

// The server's side of the protobuf messages, written from the field numbers, apart from the client's.

export type FakeCall = {
  modelId: string;
  sequence: number;
  loss: string;
  forwardOnly: boolean;
  data: FakeDatum[];
};

export const decodeCall = (bytes: Uint8Array): FakeCall =>
  new PbfReader(bytes).readFields(
    (field, call, reader) => {
      if (field === 1) call.modelId = reader.readString();
      if (field === 2) call.sequence = reader.readVarint();
      if (field === 3) call.data.push(readDatum(reader));
      if (field === 4) call.loss = reader.readString();
      if (field === 6) call.forwardOnly = reader.readBoolean();
    },
    { modelId: '', sequence: 0, loss: '', forwardOnly: false, data: [] } as FakeCall,
  );

function readDatum(reader: PbfReader): FakeDatum {
  let tokens: number[] = [];
  const inputs: Record<string, { data: number[]; shape: number[] }> = {};
  reader.readMessage((field, _, datum) => {
    if (field === 1)
      datum.readMessage((chunkField, __, chunk) => {
        if (chunkField !== 1) return;
        chunk.readMessage((textField, ___, text) => {
          if (textField === 1) tokens = [...new Int32Array(copied(text.readBytes()))];
        }, undefined);
      }, undefined);
    if (field === 2) {
      let name = '';
      const tensor = { data: [] as number[], shape: [] as number[] };
      datum.readMessage((entryField, __, entry) => {
        if (entryField === 1) name = entry.readString();
        if (entryField === 2) Object.assign(tensor, readTensor(entry));
      }, undefined);
      inputs[name] = tensor;
    }
  }, undefined);
  return { tokens, inputs };
}

function readTensor(reader: PbfReader): { data: number[]; shape: number[] } {
  let bytes: Uint8Array = new Uint8Array();
  let type = 0;
  const shape: number[] = [];
  reader.readMessage((field, _, tensor) => {
    if (field === 1) bytes = tensor.readBytes();
    if (field === 3) type = tensor.readVarint();
    if (field === 4) tensor.readPackedVarint(shape);
  }, undefined);
  const data =
    type === 1
      ? [...new Float32Array(copied(bytes))]
      : Array.from(new BigInt64Array(copied(bytes)), (value) => Number(value));
  return { data, shape };
}

const copied = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** All datums in one record, as the service batches them. */
export function encodeLogProbs(rows: readonly Float32Array[]): Uint8Array {
  const writer = new PbfWriter();
  const all = Float32Array.from(rows.flatMap((row) => [...row]));
  let at = 0;
  const offsets = BigInt64Array.from([0, ...rows.map(({ byteLength }) => (at += byteLength))], BigInt);
  field(writer, 1, Buffer.from('scalar'));
  writer.writeMessage(
    2,
    (_, record) => {
      record.writeMessage(
        2,
        (__, entry) => {
          field(entry, 1, Buffer.from('logprobs'));
          entry.writeMessage(
            2,
            (___, batched) => {
              field(batched, 1, bytesOf(all));
              field(batched, 2, bytesOf(offsets));
              batched.writeTag(3, 0);
              batched.writeVarint(1);
            },
            undefined,
          );
        },
        undefined,
      );
      record.writeTag(3, 0);
      record.writeVarint(rows.length);
    },
    undefined,
  );
  return writer.finish();
}

/** Most likely tokens of each position of a prompt; the first has none. */
export function encodeTopTokens(ids: Int32Array, logProbs: Float32Array, count: number): Uint8Array {
  const writer = new PbfWriter();
  writer.writeMessage(
    3,
    (_, top) => {
      const none = Array.from({ length: count }, () => 0);
      field(top, 1, bytesOf(Int32Array.from([...none, ...ids])));
      field(top, 2, bytesOf(Float32Array.from([...none.map(() => -99_999), ...logProbs])));
      top.writeTag(3, 0);
      top.writeVarint(count);
      top.writeTag(4, 0);
      top.writeVarint(1 + ids.length / count);
    },
    undefined,
  );
  return writer.finish();
}

function field(writer: PbfWriter, number: number, bytes: Uint8Array): void {
  writer.writeTag(number, 2);
  writer.writeBytes(bytes);
}
