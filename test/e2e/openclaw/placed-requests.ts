import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import { clawloop } from '../harness/clawloop.ts';
import type { Served } from './scripted-upstream.ts';

/** A request that the model answered, and what the collector says of it in the log. */
export type PlacedRequest = Served & {
  readonly interaction: InteractionCompleted['data'];
  /** undefined: an open turn, whose next state is not known */
  readonly place:
    | {
        readonly session: string | undefined;
        readonly rule: string | undefined;
        /** why it does not train; undefined: it may */
        readonly reason: string | undefined;
        readonly next: readonly ChatMessage[] | undefined;
      }
    | undefined;
};

type Tailed = { readonly event: InteractionCompleted | TurnCompleted | TurnSkipped };

async function tail<Event extends Tailed['event']>(folder: string, topic: string, type: Event['type']) {
  const argv = ['topics', 'tail', topic, '--type', type, '--json', '--data-folder', folder];
  const { stdout } = await clawloop(argv);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { readonly event: Event }).event);
}

/** The requests that were answered, as far as the log knows them, in the order in which the model saw them. */
export async function placedRequests(
  folder: string,
  served: readonly Served[],
): Promise<readonly PlacedRequest[]> {
  const [interactions, completed, skipped] = await Promise.all([
    tail<InteractionCompleted>(folder, 'conversations', 'interaction.completed'),
    tail<TurnCompleted>(folder, 'turns', 'turn.completed'),
    tail<TurnSkipped>(folder, 'turns', 'turn.skipped'),
  ]);
  const places = new Map<string, PlacedRequest['place']>();
  for (const { data } of completed)
    places.set(data.turnId, {
      ...{ session: data.session, rule: data.rule, next: data.next, reason: undefined },
    });
  for (const { data } of skipped)
    places.set(data.turnId, {
      ...{ session: data.session, rule: data.rule, next: undefined, reason: data.reason },
    });
  return interactions
    .map(({ id, data }): PlacedRequest => {
      const one = served.find(({ n }) => n === data.tokens?.promptIds[0]);
      if (one === undefined) throw new Error(`the model never saw ${id}`);
      return { ...one, interaction: data, place: places.get(id) };
    })
    .sort((a, b) => a.n - b.n);
}
