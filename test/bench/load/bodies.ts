/** The requests have 300 and some 104,000 bytes. */
const LARGE_BYTES = 104_000;
const TURNS = 20;
const TOOLS = 12;

export type BodySize = 'small' | 'large';

/** @returns the body of a chat request as JSON */
export function requestBody(size: BodySize, stream: boolean): string {
  const chat = { model: 'clawloop', stream };
  const body = size === 'small' ? { ...chat, messages: shortChat } : { ...chat, ...agentChat() };
  return JSON.stringify(body);
}

const shortChat = [
  { role: 'system', content: 'You are a helpful assistant. Answer in a few plain words, without a list.' },
  {
    role: 'user',
    content:
      'I have tomatoes, an onion and some rice at home. What should I cook tonight, and what do I begin with?',
  },
];

/** A conversation of 20 turns; in each a tool is called, whose result is most of its bytes. */
function agentChat(): object {
  const words = wordStream(7);
  const tools = Array.from({ length: TOOLS }, (_, at) => ({
    type: 'function',
    function: {
      name: `tool_${at}`,
      description: words(40),
      parameters: {
        type: 'object',
        properties: Object.fromEntries(
          ['path', 'query', 'limit'].map((name) => [name, { type: 'string', description: words(12) }]),
        ),
        required: ['path'],
      },
    },
  }));
  const turn = (at: number, resultWords: number) => {
    const id = `call_${at}_abcdef0123456789`;
    const given = JSON.stringify({ path: `/home/me/${words(2).replace(' ', '/')}.md`, query: words(4) });
    return [
      { role: 'user', content: `[Mon 2026-11-16 10:${10 + at} UTC] ${words(40)}` },
      {
        role: 'assistant',
        content: words(15),
        tool_calls: [{ id, type: 'function', function: { name: `tool_${at % TOOLS}`, arguments: given } }],
      },
      { role: 'tool', tool_call_id: id, content: lines(words, resultWords) },
      { role: 'assistant', content: lines(words, 100) },
    ];
  };
  const chatWith = (resultWords: number) => ({
    messages: [
      { role: 'system', content: lines(words, 2_500) },
      ...Array.from({ length: TURNS }, (_, at) => turn(at, resultWords)).flat(),
      { role: 'user', content: 'And what follows from that for the week to come?' },
    ],
    tools,
  });
  const bytesWithout = JSON.stringify(chatWith(0)).length;
  return chatWith(Math.round((LARGE_BYTES - bytesWithout) / TURNS / BYTES_PER_WORD));
}

/** Of a text of `wordStream`, with the space. */
const BYTES_PER_WORD = 7.2;

function lines(words: (count: number) => string, count: number): string {
  return Array.from({ length: Math.ceil(count / 20) }, () => words(20)).join('\n');
}

/** Words of a fixed seed, as varied as those of a text, so that a log's compression has realistic work. */
function wordStream(seed: number): (count: number) => string {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const word = () =>
    Array.from({ length: 2 + next(3) }, () => 'bcdfghklmnprstvw'[next(16)]! + 'aeiou'[next(5)]!).join('');
  const vocabulary = Array.from({ length: 2_000 }, word);
  return (count) =>
    Array.from({ length: count }, () => vocabulary[Math.min(next(2_000), next(2_000))]!).join(' ');
}
