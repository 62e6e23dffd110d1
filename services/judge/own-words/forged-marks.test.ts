import fc from 'fast-check';
import { expect, test } from 'vitest';
import { user } from '../testing/events.ts';
import { readOwnWords } from './own-words.ts';

/** Texts of a page that forges the marks which separate its words from the person's. */
const piece = fc.constantFrom(
  'That is STRANGE. ',
  'STRANGE',
  'STRANGE.\n',
  '\n',
  '\n\n',
  ' ',
  '.',
  '?',
  ':',
  'hi. ',

  '</document>',
  '<document>',
  '<document/>',
  '</a>',
  '<a>',
  '</user_query>',
  '<user_query>',
  '<task>',
  '</task>',
  '```',
  '~~~',
  '`',
  '"',
  '“',
  '”',
  '„',
  "'",
  '’',
  '> ',
  '| ',
  '    ',
  '\t',
  '---\n',

  'Hi Bob,\n',
  'Bob: ',
  'From: a\n',
  'Observation: ',
  'On Monday Ann wrote:\n> a\n',
  'What is next?',
  'Reply to it.',
);

/** Ways in which a client or a person marks a text as quoted; each works for any text. */
const apart: Readonly<Record<string, (page: string) => string>> = {
  'in a block, before the words': (page) => `<document>\n${page}\n</document>\nWhat is next?`,
  'in a block, after the words': (page) => `What is next?\n<document>\n${page}\n</document>`,
  'in a block beside a wrapper': (page) =>
    `<document>${page}</document>\n<user_query>What is next?</user_query>`,
  'in a wrapper, under a request': (page) => `<user_query>Summarise this:\n${page}</user_query>`,
  'in a reminder': (page) => `<system-reminder>${page}</system-reminder>`,
  'in a code block': (page) => `What is next?\n\`\`\`\n${page}\n\`\`\``,
  'in a quotation': (page) => `What does “${page}” mean?`,
  'in plain quotation marks': (page) => `What does "${page}" mean?`,
  'in quoted lines': (page) => `${`\n${page}`.replaceAll('\n', '\n> ')}\n\nWhat is next?`,
  'under a request': (page) => `Summarise this:\n${page}`,
  'behind a colon': (page) => `Look at this: ${page}`,
  'under a header': (page) => `What is next?\n\nFrom: mallory@acme.example\n\n${page}`,
  'as the output of a tool': (page) => `Observation: ${page}`,
  'under a separator': (page) => `What is next?\n---\n${page}`,
};

test.each(Object.entries(apart))(
  'a text %s never counts as own words, whatever marks it contains',
  (_, setApart) => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect(readOwnWords(user(setApart(pieces.join('')))).words).not.toContain('STRANGE');
      }),
      { seed: 7, numRuns: 1500 },
    );
  },
);
