import { until } from '../e2e/harness/clawloop.ts';
import type { Client, Place } from './client.ts';
import { type Step, said } from './steps.ts';
import type { ScriptedUpstream } from './upstream/scripted-upstream.ts';

/** The answers as a program showed them, by step, or its error. */
export type Played = {
  readonly shown: Partial<Readonly<Record<Step, string>>>;
  readonly compacted: boolean;
  /** set if the program failed before the last step */
  readonly failure: string | undefined;
};

/** Says all steps of the person to a program, in order. */
export async function play(client: Client, place: Place, upstream: ScriptedUpstream): Promise<Played> {
  const shown: Partial<Record<Step, string>> = {};
  let compacted = false;
  let step: Step | 'start' | 'compact' | 'resume' | 'end' = 'start';
  try {
    const conversation = await client.open(place);
    const say = async (next: Step): Promise<void> => {
      step = next;
      shown[next] = await conversation.say(said[next]);
    };
    try {
      for (const next of ['question', 'tool', 'correction', 'praise'] as const) await say(next);
      step = 'compact';
      await conversation.compact?.();
      compacted = conversation.compact !== undefined;
      await say('compacted');
      step = 'resume';
      await conversation.resume();
      await say('resumed');
      step = 'stopped';
      await conversation.stop(said.stopped, () => until('the answer begins', () => isBegun(upstream)));
      await say('again');
      step = 'end';
    } finally {
      await conversation.close();
    }
    return { shown, compacted, failure: undefined };
  } catch (error) {
    return { shown, compacted, failure: `${step}: ${(error as Error).message}` };
  }
}

const isBegun = ({ served }: ScriptedUpstream): boolean =>
  served.some(({ reply, words }) => reply.step === 'stopped' && words() > 3);
