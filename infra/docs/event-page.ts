import { z } from 'zod';
import { catalogue } from '../../shared/events/catalogue.ts';
import { topics } from '../../shared/events/define-event.ts';

type JsonSchema = {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
};

/** The generated part of docs/understand/events.md: every topic, event and field. */
export const eventTables = (): string =>
  topics
    .map((topic) => {
      const events = catalogue.filter((definition) => definition.topic === topic);
      return `### ${topic}\n\n${events.map(eventSection).join('\n')}`;
    })
    .join('\n');

function eventSection({ type, version, writtenBy, about, schema }: (typeof catalogue)[number]): string {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'output' }) as JsonSchema;
  const rows = Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? '' : ' (optional)';
    return `| \`${name}\` | ${typeName(field)}${optional} | ${inCell(field.description ?? '')} |`;
  });
  return `#### ${type}\n\n${about} Version ${version}; written by ${writtenBy}.\n\n| field | type | |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function typeName(field: JsonSchema): string {
  if (field.const !== undefined) return `\`${String(field.const)}\``;
  if (field.enum !== undefined) return field.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (field.anyOf !== undefined) return field.anyOf.map(typeName).join(' or ');
  if (field.type === 'array') return `list of ${typeName(field.items ?? {})}`;
  return Array.isArray(field.type) ? field.type.join(' or ') : String(field.type ?? 'any');
}

const inCell = (text: string) => text.replaceAll('|', '\\|');
