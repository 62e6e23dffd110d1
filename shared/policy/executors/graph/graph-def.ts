import { type Attributes, type TypeName, types } from '../op-attributes.ts';
import type { Shape } from '../tensor.ts';
import { type Message, message } from './protobuf.ts';

/** One operation; `inputs` are `name:output` of other nodes. */
export type GraphNode = {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly string[];
  readonly attributes: Attributes;
  /** Of a placeholder: undefined when it may be fed in any shape. */
  readonly shape?: Shape | undefined;
  /** Of a constant. */
  readonly value?: {
    readonly type: TypeName;
    readonly shape: Shape;
    readonly values: Float32Array | Int32Array;
  };
};

/** Version of the graph format that is written, and the oldest reader: those of TensorFlow 2. */
const [PRODUCER, MIN_CONSUMER] = [1087, 12];

/** The tag under which the graph is loaded. */
export const SERVE = 'serve';

/** A SavedModel (saved_model.proto) of one graph without variables: the content of `saved_model.pb`. */
export function savedModel(nodes: readonly GraphNode[]): Uint8Array {
  const graph = message();
  for (const node of nodes) graph.bytes(1, nodeDef(node));
  graph.bytes(4, message().integer(1, PRODUCER).integer(2, MIN_CONSUMER));
  const metaGraph = message().bytes(1, message().bytes(4, SERVE)).bytes(2, graph);
  return message().integer(1, 1).bytes(2, metaGraph).done();
}

function nodeDef({ name, op, inputs, attributes, shape, value }: GraphNode): Message {
  const node = message().bytes(1, name).bytes(2, op);
  for (const input of inputs) node.bytes(3, input);
  const attribute = (key: string, content: Message): void =>
    void node.bytes(5, message().bytes(1, key).bytes(2, content));
  for (const [key, content] of Object.entries(attributes)) attribute(key, attributeValue(content));
  if (op === 'Placeholder') attribute('shape', message().bytes(7, shapeProto(shape)));
  if (value !== undefined) attribute('value', message().bytes(8, tensorProto(value)));
  return node;
}

function attributeValue(value: Attributes[string]): Message {
  if (typeof value === 'string') return message().integer(6, types[value]);
  if (typeof value === 'boolean') return message().integer(5, Number(value));
  return message().integer(3, value);
}

function shapeProto(shape: Shape | undefined): Message {
  const proto = message();
  if (shape === undefined) return proto.integer(3, 1); // unknown rank
  for (const size of shape) proto.bytes(2, message().integer(1, size));
  return proto;
}

function tensorProto({ type, shape, values }: NonNullable<GraphNode['value']>): Message {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return message().integer(1, types[type]).bytes(2, shapeProto(shape)).bytes(4, bytes);
}
