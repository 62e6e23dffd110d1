import { expect, test } from 'vitest';
import { message } from './protobuf.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

test('fields are encoded as in the specification', () => {
  // The three examples of protobuf.dev/programming-guides/encoding.
  expect(hex(message().integer(1, 150).done())).toBe('089601');
  expect(hex(message().bytes(2, 'testing').done())).toBe('120774657374696e67');
  expect(hex(message().bytes(3, message().integer(1, 150)).done())).toBe('1a03089601');
});

test('negative integers take ten bytes, floats four, lowest first', () => {
  expect(hex(message().integer(1, -2).done())).toBe('08feffffffffffffffff01');
  expect(hex(message().float(4, 1).done())).toBe('250000803f');
  expect(hex(message().integer(1, 0).bytes(2, new Uint8Array(0)).done())).toBe('08001200');
});
