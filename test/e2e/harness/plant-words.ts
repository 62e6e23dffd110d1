import OpenAI from 'openai';

type Messages = OpenAI.ChatCompletionMessageParam[];

/** Words of one person that `plantWords` passes through all services, and of another. */
export const annas = ['zanzibarquokka', 'vexillography', 'Fjaerlandsgata', 'quincunxes', 'brimborion'];
export const berts = ['gallimaufry'];

export type Planting = {
  readonly ask: (
    session: string,
    messages: Messages,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<{ readonly id: string; readonly answer: string }>;
  /** A question and a reaction to its answer. @returns the id of the answer */
  readonly chat: (
    session: string,
    question: string,
    reaction: string,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<string>;
  /** Questions, reactions, a comment and a repeatable request; enough of bert's for a batch of three. */
  readonly plantWords: () => Promise<void>;
  /** A request that stays open. */
  readonly plantOpen: () => Promise<unknown>;
};

/** Two people who chat in the sessions anna and bert. @param url of serving, now */
export function planting(url: () => string, apiKey: () => string = () => 'none'): Planting {
  const ask: Planting['ask'] = async (session, messages, headers = {}) => {
    const client = new OpenAI({ baseURL: `${url()}/v1`, apiKey: apiKey(), maxRetries: 0 });
    const { id, choices } = await client.chat.completions.create(
      { model: 'clawloop', messages, max_tokens: 300, temperature: 0 },
      { headers: { 'x-session-id': session, ...headers } },
    );
    return { id, answer: choices[0]!.message.content ?? '' };
  };
  const chat: Planting['chat'] = async (session, question, reaction, headers = {}) => {
    const asked = { role: 'user', content: question } as const;
    const { id, answer } = await ask(session, [asked], headers);
    await ask(session, [asked, { role: 'assistant', content: answer }, { role: 'user', content: reaction }]);
    return id;
  };
  return {
    ask,
    chat,
    plantWords: async () => {
      const question = 'How do I pack for Zanzibar with a zanzibarquokka?';
      const rated = await chat('anna', question, 'Perfect, thanks!', { 'idempotency-key': 'pack' });
      await fetch(`${url()}/v1/feedback`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey()}` },
        body: JSON.stringify({
          completion_id: rated,
          rating: 'down',
          comment: 'Mention vexillography instead.',
        }),
      });
      const long = `Where is Fjaerlandsgata? ${'It is long. '.repeat(200)}`;
      await chat('anna', long, 'No lists of quincunxes, please.');
      for (const place of ['Rome', 'Oslo', 'Bern'])
        await chat('bert', `How do I pack gallimaufry for ${place}?`, 'Perfect, thanks!');
    },
    plantOpen: () => ask('anna', [{ role: 'user', content: 'One more brimborion.' }]),
  };
}

/**
 * Twelve token ids of each answer of a session that no record of another session has, as the records write them: two
 * answers may begin alike. @param records JSON of the records, one per line
 */
export const tokensOnlyIn = (records: string, others: string): readonly string[] =>
  records
    .split('\n')
    .flatMap((line) => /"responseIds":\[((?:\d+,){12})/.exec(line)?.[1] ?? [])
    .filter((text) => !others.includes(text));
