import { hash } from 'node:crypto';
import { messageTexts } from '../../../shared/chat/message.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { namesOf, turnNamed } from '../../../shared/events/names.ts';
import type { Survey, Target } from './survey.ts';

/** Whose words a record, a row or a file holds. */
export type Selection = {
  readonly target: Target;
  readonly turns: ReadonlySet<string>;
  readonly sessions: ReadonlySet<string>;
  readonly has: (event: ClawLoopEvent) => boolean;
  /** Whether a text names a turn of the selection, or its access key or session if that is what is forgotten. */
  readonly isNamedIn: (text: string) => boolean;
};

/** Characters of a text that recognise it elsewhere; shorter texts occur by chance. */
const PROBE = 80;
const SHORTEST = 24;

export function selectionOf(survey: Survey, target: Target, turns: ReadonlySet<string>): Selection {
  const { scope, name, key } = target;
  const known = [...turns].map((turn) => survey.turns.get(turn));
  const sessions = new Set(known.flatMap((turn) => turn?.session ?? []));
  const foreign = new Set([...survey.turns].filter(([id]) => !turns.has(id)).map(([, { lane }]) => lane));
  /** a named session has a lane of its own; the others of a key share one */
  const own = known.flatMap((turn) => (turn === undefined || foreign.has(turn.lane) ? [] : [turn.lane]));
  const lanes = new Set(own);
  const isOfKey = (data: { readonly key?: unknown }) => data.key === undefined || data.key === key;
  const keyField = `"key":${JSON.stringify(key)}`;
  const sessionField = `"session":${JSON.stringify(name)}`;
  const isNamedIn = (text: string): boolean => {
    if (tokensOf(text).some((token) => turns.has(token))) return true;
    if (scope === 'key') return text.includes(keyField);
    // Another access key may have a session of the same name.
    const isForeign = text.includes('"key":') && !text.includes(keyField);
    return scope === 'session' && text.includes(sessionField) && !isForeign;
  };
  return {
    target,
    turns,
    sessions,
    isNamedIn,
    has: (event) => {
      const data = event.data as { readonly key?: unknown };
      const names = namesOf(event);
      const turn = turnNamed(names);
      if (turn !== undefined && turns.has(turn)) return true;
      if (event.type === 'event.rejected') return isNamedIn(event.data.body);
      if (scope === 'key') return data.key === name;
      if (scope !== 'session' || !isOfKey(data)) return false;
      if (event.type === 'interaction.failed') return lanes.has(event.data.lane);
      return names.session === name;
    },
  };
}

/** Ids have none of these characters. */
const tokensOf = (text: string): readonly string[] => text.split(/[\s"'/@,:;{}[\]()\\]+/);

/** Beginnings of the words in an event, by which they are recognised elsewhere. System texts are many sessions'. */
export function probesIn(event: ClawLoopEvent): readonly string[] {
  return wordsIn(event)
    .map((text) => squeezed(text).slice(0, PROBE))
    .filter(({ length }) => length >= SHORTEST);
}

function wordsIn(event: ClawLoopEvent): readonly string[] {
  switch (event.type) {
    case 'interaction.completed':
      return [...event.data.messages, event.data.answer].flatMap(spoken);
    case 'turn.completed':
    case 'turn.continued':
      return event.data.next.flatMap(spoken);
    case 'feedback.given':
      return event.data.comment === undefined ? [] : [event.data.comment];
    case 'judgment.reached':
    case 'judgment.revised':
      return event.data.hints;
    default:
      return [];
  }
}

const spoken = (message: ChatMessage): readonly string[] =>
  message.role === 'system' || message.role === 'developer' ? [] : messageTexts(message);

/** Tells whether a request or its answer repeats one of the texts, also inside a longer one. */
export function openRepeats(probes: ReadonlySet<string>): (event: InteractionCompleted) => boolean {
  // Each request repeats the conversation before it.
  const known = new Map<string, boolean>();
  const isRepeated = (text: string): boolean => {
    const digest = hash('sha256', text, 'base64url');
    const before = known.get(digest);
    if (before !== undefined) return before;
    const now = squeezed(text);
    const found = [...probes].some((probe) => now.includes(probe));
    known.set(digest, found);
    return found;
  };
  return ({ data: { messages, answer } }) => [...messages, answer].flatMap(messageTexts).some(isRepeated);
}

const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim();
