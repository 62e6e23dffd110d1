import { expect, test } from 'vitest';
import { hintMarker } from '../../shared/policy/text/hint.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import { type WishKind, wishes } from '../../shared/wishes/wishes.ts';
import { checkKnownHint, hintEffect, keepsContent, readingOf } from './hint-trust.ts';
import type { LearningEngine } from './learning-engine.ts';
import { toyEngine } from './testing/toy-engine.ts';

/** A token per character. */
const idsOf = (text: string): number[] => [...text].map((character) => character.codePointAt(0)!);
const textOf = (ids: readonly number[]): string => String.fromCodePoint(...ids);

const requests = ['egg', 'sky', 'dog', 'tea', 'car', 'sea', 'sun', 'map', 'tin', 'oak', 'fox', 'wax'];

type Speaks = (request: string, hint: string | undefined, index: number) => string;

/**
 * An engine whose base gives prescribed answers; an answer that names a request is likely only after that
 * request.
 */
function speaking(speaks: Speaks) {
  let sampled = 0;
  const engine: LearningEngine = {
    ...toyEngine,
    contextTokens: 4096,
    writePrompt: ({ messages }) => idsOf(String(messages.at(-1)!.content)),
    score: (_, sequences) =>
      sequences.map(({ promptIds, responseIds }: PolicySequence) => {
        const request = textOf(promptIds).slice(0, 3);
        const logProb = textOf(responseIds).includes(request) ? -1 : -3;
        return Float32Array.from(responseIds, () => logProb);
      }),
    speech: {
      read: textOf,
      gateRequests: requests,
      wideRequests: [],
      rehearsed: [],
      sample: (_, { prompts }) => {
        sampled += 1;
        return prompts.map((ids, index) => {
          const [request, hint] = textOf(ids).split(`\n\n${hintMarker}\n`);
          return { ids: idsOf(speaks(request!, hint, index)), ended: true, temperature: 1 };
        });
      },
    },
  };
  return { engine, sampled: () => sampled };
}

const greets = (share: { readonly without: number; readonly with: number }) =>
  speaking((request, hint, index) => {
    const greeted = index % 12 < 12 * (hint === undefined ? share.without : share.with);
    return `${greeted ? 'Hello! ' : ''}The ${request}.`;
  });

test.each([
  ['reads it as meant', { without: 0.5, with: 1 }, 'as-meant'],
  ['reads it as its contrary', { without: 0.5, with: 0.25 }, 'backwards'],
  ['does not read it', { without: 0.5, with: 0.5 }, 'in-doubt'],
  ['meets it anyway', { without: 1, with: 1 }, 'in-doubt'],
])('a base that %s', (_, share, reading) => {
  const effect = hintEffect(greets(share).engine, 'greeting');
  expect(effect).toEqual(share);
  expect(readingOf(effect)).toBe(reading);
});

test('each wish is measured once, and the plain answers once for all', () => {
  const { engine, sampled } = greets({ without: 0.5, with: 1 });
  const kinds: readonly WishKind[] = ['greeting', 'no-list', 'greeting', 'no-list', 'shorter'];
  for (const kind of kinds) hintEffect(engine, kind);
  expect(sampled()).toBe(4);
  // Effects that characters cannot show are not measured.
  expect(hintEffect(engine, 'formal')).toBeUndefined();
  expect(sampled()).toBe(4);
});

test('without speech, or with answers cut off, the effect is unknown', () => {
  expect(hintEffect(toyEngine, 'greeting')).toBeUndefined();
  expect(keepsContent(toyEngine, 'Be nice.')).toBeUndefined();
  const { engine } = greets({ without: 0, with: 1 });
  const sample: NonNullable<LearningEngine['speech']>['sample'] = (adapter, request) =>
    engine.speech!.sample(adapter, request).map((answer) => ({ ...answer, ended: false }));
  const cutOff = { ...engine, speech: { ...engine.speech!, sample } };
  expect(hintEffect(cutOff, 'no-closing')).toBeUndefined();
  expect(hintEffect(cutOff, 'shorter')).toBeUndefined();
  expect(hintEffect(cutOff, 'greeting')).toEqual({ without: 0, with: 1 });
});

test('wishes read as their opposite are removed from a hint with several wishes', () => {
  const { engine } = speaking((request, hint, index) => {
    const list = hint === wishes['no-list'].hint ? true : index % 2 === 0;
    const greeting = hint === wishes['no-greeting'].hint ? false : index % 3 === 0;
    return `${greeting ? 'Hello! ' : ''}The ${request}.${list ? '\n- one\n- two' : ''}`;
  });
  expect(checkKnownHint(engine, 'No lists, please. No greeting, please.')).toEqual({
    hint: 'No greeting, please.',
    backwards: 1,
    inDoubt: false,
  });
  expect(checkKnownHint(engine, 'No lists, please.')).toEqual({ backwards: 1, inDoubt: true });
});

test('words that the base takes for another request are recognised by its answers', () => {
  const { engine } = speaking((request, hint) =>
    hint === 'Could you put this into flowing text?' ? 'Here is a text.' : `The ${request}.`,
  );
  expect(keepsContent(engine, 'Never say please!')).toBe(true);
  expect(keepsContent(engine, 'Could you put this into flowing text?')).toBe(false);
});

test('a hint that leaves no room for an answer is refused without sampling', () => {
  const { engine, sampled } = speaking((request) => `The ${request}.`);
  expect(keepsContent(engine, 'x'.repeat(20_000))).toBe(false);
  expect(sampled()).toBe(0);
});

test('with a template that rejects a lone request, the effect is unknown', () => {
  const { engine } = speaking((request) => `The ${request}.`);
  const refuses: LearningEngine = {
    ...engine,
    writePrompt: () => {
      throw new Error('a system message is needed');
    },
  };
  expect(keepsContent(refuses, 'Never say please!')).toBeUndefined();
  expect(hintEffect(refuses, 'greeting')).toBeUndefined();
});
