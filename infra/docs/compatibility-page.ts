import { rowsOf } from '../../services/serving/chat/field-row.ts';
import { type FieldRule, partFields, requestFields } from '../../services/serving/chat/request-fields.ts';
import { messagesBody } from '../../services/serving/messages/fields.ts';
import { responsesBody } from '../../services/serving/responses/fields.ts';

type Row = Pick<FieldRule, 'does' | 'about'>;

/** docs/compatibility.md: what becomes of each field of each API, out of the tables that serving reads. */
export function compatibilityPage(): string {
  const chat = table({ ...(requestFields as Readonly<Record<string, FieldRule>>), ...partFields });
  return [
    head,
    chat,
    rest,
    responses,
    table(rowsOf(responsesBody)),
    messages,
    table(rowsOf(messagesBody)),
  ].join('\n');
}

function table(fields: Readonly<Record<string, Row>>): string {
  const rows = Object.entries(fields)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { does, about }]) => `| \`${name}\` | ${does} | ${about.replaceAll('|', '\\|')} |`);
  return `| field | what becomes of it | how |\n|---|---|---|\n${rows.join('\n')}\n`;
}

const head = `# Compatibility

Made from the table that serving reads requests by, by \`npm run docs\`.

| | what becomes of a field |
|---|---|
| *honoured* | It does what the API says. With a value that it cannot have: 400 \`invalid_request\`. |
| *hint* | The API lets a server disregard it; it changes no answer. |
| *ignored* | It is left out, and the answer names it in \`clawloop.ignored\`. |
| *refused* | 400 \`unsupported_parameter\` with its name in \`param\`. |

*Ignored* and *refused* hold where the value asks for something: \`null\`, \`best_of: 1\` or \`response_format: {"type": "text"}\` ask for nothing.

## What is left out, and what is refused

Programs send fields that a server does not know, and tools that another server would run. An answer without them is still the answer to what was asked, so they are left out:

* fields that stand in none of the tables below;
* tools that a server would run, such as \`web_search\`; a \`tool_choice\` that asks for one is 400 \`invalid_request\`;
* images: each becomes the text \`[image]\`, the same in every request, so that a history goes on.

The answer names all of them, 64 at most: \`"clawloop": {"version": 3, "recorded": true, "ignored": ["client_metadata", "tools[8]: web_search"]}\`. So does a stream, where the mark stands at its end, and the fact
(\`ignored\`). \`clawloop_serving_ignored_total\` counts the requests. With \`--strict-fields\` fields and tools are refused instead, and with \`--images refuse\` images are.

Refused in any case is what another answer was wanted for: another sampling (\`typical_p\`, \`min_tokens\`), another form (audio, several answers compared), a history that is not here (\`conversation\`, \`prompt\`), an answer
that is fetched later (\`background\`). So are tools that the client runs but that are no functions, and documents and audio in messages, which say what the question is about.

## Chat completions

\`POST /v1/chat/completions\`, checked with the unmodified \`openai\` package. Fields that OpenAI's API does not have are those of vLLM and SGLang.
`;

const rest = `### Calls of tools

Calls are streamed as they are written: the first delta of a call has its \`id\` and name, the others more of its arguments. Models that write a call as bare JSON (Llama 3) tell
it in one piece at its end, since only then it is known to be one. A call that is cut off, by \`max_tokens\` or by a \`stop\`, stands in the answer as far as it came, and
\`finish_reason\` is not \`tool_calls\`.

| \`tool_choice\` | the answer |
|---|---|
| \`auto\`, or left out | as the policy decides |
| \`none\` | no tools are shown to the policy, and nothing it writes is read as a call |
| \`required\` | one call of one of the tools |
| a named function | one call of it |
| \`allowed_tools\` | as \`auto\` or \`required\`, and only the allowed tools are shown |

A call that has to come is begun in the prompt, in the form of the model's family and without reasoning before it; of what follows, only tokens are sampled that go on with
the name of a tool and then with a JSON object, of its \`parameters\` where such a schema [is held](structured-output.md). So it is a call whatever the policy knows of tools; it ends with \`length\` where \`max_tokens\` is too small for it. \`stop\` does not cut it.
Where a token was kept out that the policy would have taken, the turn does not train (\`constrained\`); where none was, the answer is the policy's own and trains like any other, the
part in the prompt excepted. An upstream engine is asked for the same with \`tool_choice\`, and enforces it itself.

With \`parallel_tool_calls: false\` an answer ends before a second call, of an upstream engine too.

Before there were \`tools\` there were \`functions\`. A request with those gets its call as \`function_call\`, one at most, and \`finish_reason: function_call\`; in the history, a \`function_call\` and its answer of the
role \`function\` are read as a call and its result. In the record they stand in the newer form.

### Answers of a format

With \`response_format\` (\`guided_json\` and the like of vLLM and SGLang, \`text.format\` of Responses, \`output_config.format\` of Messages) the answer is a document of that format whatever the policy knows of it, or,
where \`max_tokens\` is too small for it, the beginning of one that ends with \`length\`. What of JSON Schema is held, what is refused and what trains: [structured output](structured-output.md).

### Asking again: \`Idempotency-Key\`

A request with this header (1 to 255 characters) can be sent again for 24 hours, with the same access key: the recorded answer comes back with the same \`id\`, no token is sampled, and there is no second turn.
\`idempotent-replayed: true\` in the header says so. It does not matter which of the two is streamed; a recorded stream comes in a few large pieces. Answers are on disk before their end is sent
(\`answers\` in the data folder) and outlive a restart. Replicas share them where they share the folder.

* The same key with another body: 422 \`idempotency_key_reused\`. \`stream\` and \`stream_options\` are not part of that.
* The same key once the response was deleted (\`DELETE /v1/responses/ID\`): 410 \`answer_deleted\`, at every replica and after a restart. A new key is answered anew.
* While the first request is being answered, the same one waits for its answer. At another replica it does not wait: it is answered anew, as a retry, of which one is the turn.
* Errors are not recorded, and neither is an answer that was cut short because its client left: then the request is answered anew.

### The session

In this order: the headers \`x-session-id\`, \`session_id\`, \`x-session-affinity\`; the field \`session_id\`; the headers by which Claude Code and Codex name theirs; then the rules by content
([where did my turn go](where-did-my-turn-go.md)). \`user\` comes last: where a history is not known, since the client has cut or rewritten it, the session is the one in which the same user spoke
last, if its system text is alike (rule \`user\`). It never joins a new conversation to another.

### Left for later

Images as the model sees them, and audio; schemas for the arguments of calls that the policy makes of its own accord.
`;

const responses = `## Responses

\`POST /v1/responses\`, checked with the unmodified \`openai\` package and Vercel's SDK; \`GET\` and \`DELETE /v1/responses/{id}\` ([how](apis.md#openais-responses)). What a field asks for
that there is not, is 400 \`invalid_request\`.
`;

const messages = `## Messages

\`POST /v1/messages\` and \`/v1/messages/count_tokens\`, checked with the unmodified \`@anthropic-ai/sdk\` ([how](apis.md#anthropics-messages)).
`;
