import { type ChatMessage, contentText } from '../../../shared/chat/message.ts';
import { CollectorConfig } from '../../../shared/config/collector.ts';
import { attribute } from '../attribute.ts';
import { attributeSettings } from '../settings.ts';
import { type InteractionGiven, interaction } from './events.ts';
import { runFold } from './run-fold.ts';

// Requests in the formats of agent programs, with invented words.

/** The settings of a new log, so that a new rule is on without a change here. */
const settings = attributeSettings(CollectorConfig.parse({}));

export type Step = Omit<InteractionGiven, 'id'>;

/** By request name: its session, how it was found, and its next state; or why it was skipped. */
export function placed(steps: Readonly<Record<string, Step>>): Readonly<Record<string, string>> {
  const events = Object.entries(steps).map(([id, step], at) => interaction({ id, at, ...step }));
  const { emitted } = runFold(attribute, events, settings);
  const textOf = (next: readonly ChatMessage[]) =>
    next.map(({ content }) => contentText(content)).join(' | ');
  return Object.fromEntries(
    emitted.flatMap(({ type, data }) => {
      if (type === 'turn.completed')
        return [[data.turnId, `${data.session} by ${data.sessionBy} <- ${textOf(data.next)}`]];
      return type === 'turn.skipped' ? [[data.turnId, `${data.session} ${data.reason} ${data.rule}`]] : [];
    }),
  );
}

export const pans = 'A heavy pan keeps its heat for long, and browns meat evenly.';
export const oil = 'Rapeseed oil is a good choice, since it stands high heat.';
export const steel = 'Carbon steel is lighter than cast iron, and as good.';
export const tools = ['read', 'write'].map((name) => ({ type: 'function', function: { name } }));
