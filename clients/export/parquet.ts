import { ByteWriter, parquetWrite } from 'hyparquet-writer';
import type { HfRow } from './hf-rows.ts';

type Element = NonNullable<Parameters<typeof parquetWrite>[0]['schema']>[number];
/** A column or a part of one: the element, then its parts. */
type Tree = readonly Element[];

const text = (name: string): Tree => [
  { name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
];
const primitive = (name: string, type: 'INT32' | 'DOUBLE' | 'BOOLEAN'): Tree => [
  { name, type, repetition_type: 'OPTIONAL' },
];
const group = (name: string, ...parts: readonly Tree[]): Tree => [
  { name, repetition_type: 'OPTIONAL', num_children: parts.length },
  ...parts.flat(),
];
/** A list as Parquet's format asks for it, in three levels (LogicalTypes, Nested Types). */
const list = (name: string, element: Tree): Tree => [
  { name, repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  ...element,
];
const messages = (name: string): Tree =>
  list(
    name,
    group(
      'element',
      ...['role', 'content', 'reasoning_content', 'name', 'tool_call_id'].map(text),
      list(
        'tool_calls',
        group('element', text('id'), text('type'), group('function', text('name'), text('arguments'))),
      ),
    ),
  );

/** The columns, in the order of the fields of `HfRow`. */
const columns: Readonly<Record<keyof HfRow, (name: string) => Tree>> = {
  id: text,
  session_id: text,
  task: text,
  turn: text,
  model: text,
  adapter: text,
  version: (name) => primitive(name, 'INT32'),
  prompt: messages,
  completion: messages,
  tools: text,
  reward: (name) => primitive(name, 'DOUBLE'),
  own_reward: (name) => primitive(name, 'DOUBLE'),
  advantage: (name) => primitive(name, 'DOUBLE'),
  label: (name) => primitive(name, 'BOOLEAN'),
  prompt_ids: (name) => list(name, primitive('element', 'INT32')),
  completion_ids: (name) => list(name, primitive('element', 'INT32')),
  logprobs: (name) => list(name, primitive('element', 'DOUBLE')),
  temperature: (name) => primitive(name, 'DOUBLE'),
  finish_reason: text,
  not_trained: text,
};

/** Rows as a Parquet file. Its columns are the same for any rows, also for none. */
export function parquetOf(rows: readonly HfRow[]): Uint8Array {
  const names = Object.keys(columns) as readonly (keyof HfRow)[];
  const schema: Element[] = [
    { name: 'root', num_children: names.length },
    ...names.flatMap((name) => columns[name](name)),
  ];
  const writer = new ByteWriter();
  parquetWrite({
    writer,
    schema,
    createdBy: 'clawloop',
    columnData: names.map((name) => ({ name, data: rows.map((row) => row[name]) })),
  });
  return new Uint8Array(writer.getBuffer());
}
