/** The three APIs of the programs, recognised by the path of a request. */
export type Api = 'chat' | 'messages' | 'responses';

export type OfferedTool = {
  readonly name: string;
  /** its JSON schema; none: it takes plain text */
  readonly schema: Schema | undefined;
};
export type Schema = {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
};

/** A request in the form that the script reads, for every API. */
export type Asked = {
  readonly api: Api;
  readonly model: string;
  readonly streams: boolean;
  /** every system and developer text */
  readonly system: string;
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  readonly tools: readonly OfferedTool[];
  /** it asks for JSON by a schema */
  readonly wantsJson: boolean;
};

export type Body = Readonly<Record<string, unknown>>;
type Item = Body & { readonly role?: string; readonly type?: string; readonly content?: unknown };
type Part = { readonly type?: string; readonly text?: string };

export const apiOf = (path: string): Api | undefined =>
  path.endsWith('/chat/completions')
    ? 'chat'
    : path.endsWith('/messages')
      ? 'messages'
      : path.endsWith('/responses')
        ? 'responses'
        : undefined;

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? (content as readonly Part[]).map(({ text }) => text ?? '').join('\n')
      : '';

const isResult = (item: Item): boolean =>
  item.role === 'tool' ||
  (item.type?.endsWith('_call_output') ?? false) ||
  (Array.isArray(item.content) &&
    (item.content as readonly Part[]).some(({ type }) => type === 'tool_result'));

const isSystem = ({ role }: Item): boolean => role === 'system' || role === 'developer';

const toolOf = (tool: Body): OfferedTool => {
  const own = (tool.function ?? tool) as Body;
  return {
    name: String(own.name ?? own.type),
    schema: (own.parameters ?? own.input_schema) as Schema | undefined,
  };
};

export function askedIn(api: Api, body: Body): Asked {
  const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input;
  const items = ((api === 'responses' ? input : body.messages) ?? []) as readonly Item[];
  const format = body.response_format ?? body.output_config ?? (body.text as Body | undefined)?.format;
  return {
    api,
    model: String(body.model),
    streams: body.stream === true,
    system: [textOf(body.system), textOf(body.instructions), ...items.filter(isSystem).map(contentOf)].join(
      '\n',
    ),
    messages: items
      .filter((item) => !isSystem(item))
      .map((item) => ({ role: isResult(item) ? 'tool' : (item.role ?? 'call'), text: contentOf(item) })),
    tools: ((body.tools ?? []) as readonly Body[]).map(toolOf),
    wantsJson: /json_schema|json_object/.test(JSON.stringify(format ?? '')),
  };
}

const contentOf = ({ content }: Item): string => textOf(content);
