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

/** docs/events.md: every topic, every fact in it, every field of it. */
export function eventPage(): string {
  const parts = topics.map((topic) => {
    const facts = catalogue.filter((definition) => definition.topic === topic);
    return `## ${topic}\n\n${facts.map(factSection).join('\n')}`;
  });
  return `${head}\n${parts.join('\n')}`;
}

const head = `# Events

Made from \`shared/events\` by \`npm run docs\`. Each fact is a CloudEvents 1.0 envelope in structured JSON mode; \`subject\` is the partition key,
\`dataschema\` is \`clawloop:<type>:<version>\`. A reader accepts older versions, ignores types that it does not know, and stops its partition at a
newer version of one that it knows. What cannot be parsed goes to \`dead-letters\`.

A change of a schema raises the version of its type. A test compares each schema with that of the last release, which \`npm run release:events\` notes in \`shared/events/released.json\`.
`;

function factSection({ type, version, writtenBy, about, schema }: (typeof catalogue)[number]): string {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'output' }) as JsonSchema;
  const rows = Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? '' : ' (optional)';
    return `| \`${name}\` | ${typeName(field)}${optional} | ${inCell(field.description ?? '')} |`;
  });
  return `### ${type}\n\n${about} Version ${version}; written by ${writtenBy}.\n\n| field | type | |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function typeName(field: JsonSchema): string {
  if (field.const !== undefined) return `\`${String(field.const)}\``;
  if (field.enum !== undefined) return field.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (field.anyOf !== undefined) return field.anyOf.map(typeName).join(' or ');
  if (field.type === 'array') return `list of ${typeName(field.items ?? {})}`;
  return Array.isArray(field.type) ? field.type.join(' or ') : String(field.type ?? 'any');
}

const inCell = (text: string) => text.replaceAll('|', '\\|');
