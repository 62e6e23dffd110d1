import { messagesBody } from '../../services/serving/api/messages/fields.ts';
import { rowsOf } from '../../services/serving/api/request/field-row.ts';
import type { FieldRule } from '../../services/serving/api/request/field-rule.ts';
import { partFields, requestFields } from '../../services/serving/api/request/request-fields.ts';
import { responsesBody } from '../../services/serving/api/responses/fields.ts';

type Row = Pick<FieldRule, 'does' | 'about'>;

/** The tables of docs/use/api.md: how serving handles each field of each API. */
export const fieldTables = (): Readonly<Record<string, string>> => ({
  'fields of chat completions': table({
    ...(requestFields as Readonly<Record<string, FieldRule>>),
    ...partFields,
  }),
  'fields of responses': table(rowsOf(responsesBody)),
  'fields of messages': table(rowsOf(messagesBody)),
});

function table(fields: Readonly<Record<string, Row>>): string {
  const rows = Object.entries(fields)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { does, about }]) => `| \`${name}\` | ${does} | ${about.replaceAll('|', '\\|')} |`);
  return `| field | support | how |\n|---|---|---|\n${rows.join('\n')}`;
}
