import type OpenAI from 'openai';

type Messages = OpenAI.ChatCompletionMessageParam[];

const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'Please skip the greeting.'];

/** Chats that make at least four samples: six, since an answer that was cut off does not train. */
export async function chatAndReact(say: (messages: Messages) => Promise<string>): Promise<void> {
  for (let index = 0; index < 6; index++) {
    const question = { role: 'user', content: `How do I pack for a trip to place number ${index}?` } as const;
    const answer = { role: 'assistant', content: await say([question]) } as const;
    await say([question, answer, { role: 'user', content: reactions[index % reactions.length]! }]);
  }
}
