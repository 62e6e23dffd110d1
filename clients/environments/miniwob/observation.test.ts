import { expect, test } from 'vitest';
import type { ShownElement } from './in-page.ts';
import { stateKeyOf, textOfPage } from './observation.ts';

const shown = (ref: number, tag: string, more: Partial<ShownElement> = {}): ShownElement => ({
  ref,
  tag,
  states: [],
  ...more,
});

test('a page is its goal and one line for each element', () => {
  const elements = [
    shown(1, 'input', { type: 'text', text: 'Name', value: 'Ann "A"', states: ['focused'] }),
    shown(2, 'input', { type: 'checkbox', text: 'old', states: ['checked', 'disabled'] }),
    shown(4, 'select', { value: 'b', options: ['a', 'b'] }),
    shown(5, 'span', { className: 'star' }),
    shown(7, 'div', { scroll: [20, 120] }),
    shown(8, 'text', { text: 'and more' }),
  ];
  expect(textOfPage({ goal: 'Enter Ann.', elements })).toBe(
    [
      'Goal: Enter Ann.',
      '',
      '[1] input text "Name" value="Ann \\"A\\"" focused',
      '[2] input checkbox "old" checked disabled',
      '[4] select value="b" options=["a", "b"]',
      '[5] span class="star"',
      '[7] div scrolled=20/120',
      '[8] text "and more"',
    ].join('\n'),
  );
});

test('long texts and lists are cut, with a note in the text', () => {
  const elements = Array.from({ length: 403 }, (_, index) =>
    shown(index + 1, 'p', { text: 'x'.repeat(2_001) }),
  );
  const lines = textOfPage({ goal: '', elements }).split('\n');
  expect(lines[2]).toBe(`[1] p "${'x'.repeat(2_000)}…"`);
  expect(lines.slice(-2)).toEqual([expect.stringMatching(/^\[400\]/), 'and 3 more elements']);
});

test('the state is the same for equal pages, whatever numbers their elements have', () => {
  const state = (ref: number, value: string, goal = 'g') =>
    stateKeyOf({ goal, elements: [shown(ref, 'input', { value })] });
  expect(state(1, 'a')).toBe(state(7, 'a'));
  expect(new Set([state(1, 'a'), state(1, 'b'), state(1, 'a', 'h')]).size).toBe(3);
});
