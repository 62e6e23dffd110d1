import OpenAI from 'openai';

/** Asks for short answers of the served model with an access key. */
export function askerOf(url: string, apiKey: string) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  return async (messages: OpenAI.ChatCompletionMessageParam[]): Promise<string> => {
    const completion = await client.chat.completions.create({
      model: 'clawloop',
      messages,
      max_tokens: 160,
    });
    return completion.choices[0]?.message.content ?? '';
  };
}
