/**
 * Writes protocol buffer messages (protobuf.dev/programming-guides/encoding): only the parts
 * that a GraphDef needs. Fields are written by number, in any order.
 */
export type Message = {
  /** An int32, int64, enum or bool field. Integers beyond 2^53 are not exact. */
  integer(field: number, value: number): Message;
  float(field: number, value: number): Message;
  /** A string, bytes or nested message. */
  bytes(field: number, value: string | Uint8Array | Message): Message;
  done(): Uint8Array;
};

const [VARINT, LENGTH, FIXED32] = [0, 2, 5];

export function message(): Message {
  const chunks: Uint8Array[] = [];
  const tag = (field: number, wireType: number): void => void chunks.push(varint(field * 8 + wireType));
  const self: Message = {
    integer(field, value) {
      tag(field, VARINT);
      chunks.push(varint(value));
      return self;
    },
    float(field, value) {
      tag(field, FIXED32);
      const bytes = Buffer.alloc(4);
      bytes.writeFloatLE(value);
      chunks.push(bytes);
      return self;
    },
    bytes(field, value) {
      const content =
        typeof value === 'string' ? Buffer.from(value) : value instanceof Uint8Array ? value : value.done();
      tag(field, LENGTH);
      chunks.push(varint(content.length), content);
      return self;
    },
    done: () => Buffer.concat(chunks),
  };
  return self;
}

/** Seven bits a byte, lowest first; a negative number as its 64-bit two's complement, in ten bytes. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
