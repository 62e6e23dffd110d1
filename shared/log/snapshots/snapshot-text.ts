import { hash } from 'node:crypto';
import { z } from 'zod';
import { topics } from '../../events/define-event.ts';

/** How far one partition was read. `last`: id of the last record before `to`; null: there is none. */
const readPartition = z.object({ from: z.int(), to: z.int(), last: z.string().nullable() });
export type ReadPartition = Readonly<z.output<typeof readPartition>>;

/** By topic, then by partition. `from`: the first offset that the log had. */
export const readTopics = z.partialRecord(z.enum(topics), z.array(readPartition).readonly());
export type ReadTopics = Readonly<z.output<typeof readTopics>>;

/** Says which state it is, so that another one is never taken for it. */
const label = z.object({
  name: z.string(),
  /** of the view's code and of the form of its state */
  version: z.int(),
  logId: z.string(),
});
type Label = Readonly<z.output<typeof label>>;

const header = label.extend({ sha256: z.string() });
const content = z.object({ read: readTopics, state: z.unknown() });
type SnapshotContent = { readonly read: ReadTopics; readonly state: unknown };

/** Two lines: label and checksum, then the content. @param state as JSON */
export function snapshotText({ name, version, logId }: Label, read: ReadTopics, state: string): string {
  const text = `{"read":${JSON.stringify(read)},"state":${state}}`;
  return `${JSON.stringify({ name, version, logId, sha256: hash('sha256', text) })}\n${text}\n`;
}

/** The content of a snapshot; undefined: it is damaged, or of another view, version or log. */
export function contentOf(text: string, wanted: Label): SnapshotContent | undefined {
  const end = text.indexOf('\n');
  const found = header.safeParse(parsed(text.slice(0, Math.max(0, end))));
  if (!found.success) return undefined;
  const { name, version, logId, sha256 } = found.data;
  if (name !== wanted.name || version !== wanted.version || logId !== wanted.logId) return undefined;
  const body = text.slice(end + 1, -1);
  if (hash('sha256', body) !== sha256) return undefined;
  return content.safeParse(parsed(body)).data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
