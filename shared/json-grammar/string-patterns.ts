import { complementOf, hasCodePoint, intersectionOf } from './code-points.ts';
import { plainCodePoints } from './json-patterns.ts';
import { choice, codePoints, nothing, type Pattern, repeat, sequence, text } from './pattern.ts';
import { regexPattern } from './regex-pattern.ts';

/** Control characters, quote and backslash, which a JSON string must escape. */
const escapedCodePoints = complementOf(plainCodePoints);
/** The escapes offered if a set also has code points that need none. */
const commonEscapes = '\n\t\r"\\';

/** A JSON string whose value matches this pattern. */
export const quoted = (pattern: Pattern): Pattern => sequence(text('"'), inText(pattern), text('"'));

function inText(pattern: Pattern): Pattern {
  switch (pattern.kind) {
    case 'codePoints': {
      const plain = intersectionOf(pattern.set, plainCodePoints);
      const special = intersectionOf(pattern.set, escapedCodePoints).flatMap(([first, last]) =>
        Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at)),
      );
      const written =
        plain.length === 0 ? special : special.filter((codePoint) => commonEscapes.includes(codePoint));
      return choice(
        ...(plain.length === 0 ? [] : [codePoints(plain)]),
        ...written.map((codePoint) => text(JSON.stringify(codePoint).slice(1, -1))),
      );
    }
    case 'text': {
      const isPlain = pattern.codePoints.every((codePoint) => hasCodePoint(plainCodePoints, codePoint));
      return isPlain
        ? pattern
        : text(JSON.stringify(String.fromCodePoint(...pattern.codePoints)).slice(1, -1));
    }
    case 'sequence':
      return pattern.parts.length === 0 ? nothing : sequence(...pattern.parts.map(inText));
    case 'choice':
      return choice(...pattern.of.map(inText));
    case 'repeat':
      return repeat(inText(pattern.of), pattern.least, pattern.most);
    case 'rule':
      throw new Error('a string pattern has no rules');
  }
}

/** For each format of JSON Schema, one notation that every validator accepts. */
const formats: Readonly<Record<string, string>> = {
  date: String.raw`(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])`,
  time: String.raw`([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z`,
  'date-time': String.raw`(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z`,
  duration: String.raw`P(\d{1,4}D(T\d{1,4}H(\d{1,4}M(\d{1,4}S)?)?)?|T\d{1,4}H(\d{1,4}M(\d{1,4}S)?)?|T\d{1,4}M(\d{1,4}S)?|T\d{1,4}S)`,
  email: '[a-z0-9]{1,20}([._-][a-z0-9]{1,20})?@([a-z0-9]{1,20}[.]){1,2}[a-z]{2,10}',
  hostname: '([a-z0-9]{1,20}[.]){1,3}[a-z]{2,10}',
  ipv4: String.raw`((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)[.]){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`,
  ipv6: '([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}',
  uuid: '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}',
  uri: 'https?://([a-z0-9]{1,20}[.]){1,3}[a-z]{2,10}(/[A-Za-z0-9._~-]{1,40}){0,6}/?',
};

const formatPatterns = new Map<string, Pattern>();

/** The pattern of a format; undefined if the format is unknown and therefore ignored. */
export function formatPattern(name: string): Pattern | undefined {
  const source = Object.hasOwn(formats, name) ? formats[name] : undefined;
  if (source === undefined) return undefined;
  const pattern = formatPatterns.get(name) ?? regexPattern(source, true);
  formatPatterns.set(name, pattern);
  return pattern;
}
