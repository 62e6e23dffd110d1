/** The words of a person to every program, in one conversation. */
export const said = {
  question: 'What should I know about cast-iron pans?',
  tool: 'Write "pan is dry" into note.txt with the shell, and tell me what it printed.',
  correction: 'No, too long. Please answer in one sentence: how do I keep a pan from rusting?',
  praise: 'Perfect, thanks. And what oil is good for it?',
  compacted: 'Is there a lighter pan that is as good?',
  resumed: 'What did we speak about so far?',
  stopped: 'How do I wash it with a brush?',
  again: 'How do I wash it with a brush?',
} as const;

export type Step = keyof typeof said;

/** The scripted model's answers. All differ, so that an answer identifies its step. */
export const answers: Readonly<Record<Step, string>> = {
  question:
    'A cast-iron pan keeps its heat for long because it is heavy, so it browns meat evenly. It rusts when it stays wet. Dry it, oil it thinly, and give it ten minutes on a low flame before you cook.',
  tool: 'The note is written: the command printed "pan is dry", so everything went as planned.',
  correction: 'Dry it at once and rub it with a little oil.',
  praise: 'Rapeseed oil is a good choice, since it stands high heat and costs little.',
  compacted: 'A carbon-steel pan is lighter than cast iron and heats faster.',
  resumed: 'Yes, we spoke of cast-iron pans, of drying them and of rapeseed oil.',
  stopped: 'This answer goes on and on until somebody stops it. '.repeat(200).trim(),
  again: 'Wash it with hot water and a brush, and leave the soap away.',
};

/** The text of an answer that calls a tool. */
export const CALLING = 'I will write the note.';
/** The command that the tool runs. */
export const COMMAND = 'echo "pan is dry" > note.txt; cat note.txt';
export const NOTE = 'pan is dry';

export const SUMMARY =
  'The person asked about cast-iron pans. We said that they are dried and oiled, wrote note.txt with the shell, and named rapeseed oil.';
export const TITLE = 'Care of cast-iron pans';
