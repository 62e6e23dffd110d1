import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memberSpans } from './member-spans.ts';

const parsed = (json: string) =>
  Object.fromEntries(
    [...memberSpans(json)].map(([name, { from, to }]) => [name, JSON.parse(json.slice(from, to)) as unknown]),
  );

test('member spans give the source text of each member', () => {
  const json = ' {\n "a" : [1, {"b": "}]\\""}] ,"c\\"d":"x\\\\","e":null , "f" : {"g":{}}, "a": -1.5e3 }\n';
  const { from, to } = memberSpans(json).get('f')!;
  expect(json.slice(from, to)).toBe(' {"g":{}}');
  expect(parsed(json)).toEqual(JSON.parse(json));
  for (const empty of ['{}', ' { } ']) expect(memberSpans(empty).size).toBe(0);
});

test('member spans work for any value and any formatting', () => {
  const text = fc.string({
    unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'a', '\n', 'é', '😀'),
  });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, text, fc.double(), fc.constant(null), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  }));
  const object = fc.dictionary(
    text.filter((name) => name !== '__proto__'),
    value,
  );
  fc.assert(
    fc.property(object, fc.integer({ min: 0, max: 2 }), (members, indent) => {
      const json = JSON.stringify(members, null, indent);
      expect(parsed(json)).toEqual(JSON.parse(json));
    }),
    { seed: 1, numRuns: 500 },
  );
});
