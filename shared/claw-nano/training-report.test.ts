import { expect, test } from 'vitest';
import { learningRateAt } from './train.ts';
import { drawCurve } from './training-curve.ts';
import { describeReport, replaceSection, type TrainingReport } from './training-report.ts';

const options = {
  seed: 's',
  tokens: 1000,
  tokensPerBatch: 100,
  peakLearningRate: 0.01,
  warmUpTokens: 100,
  paddingId: 0,
  curveEvery: 10,
  heldOutDialogues: 8,
};
const curve = [
  { step: 1, tokens: 100, trainingLoss: 7, heldOutLoss: 6.9 },
  { step: 10, tokens: 1000, trainingLoss: 0.3, heldOutLoss: 0.31 },
];
const report: TrainingReport = {
  options,
  seconds: 90,
  backend: 'native: TensorFlow',
  threads: 2,
  curve,
  measured: {
    settings: { temperature: 0.8, topP: 0.95, topK: 50 },
    free: {
      answers: 64,
      list: 0.5,
      greeting: 0.51,
      neither: 0.26,
      closing: 0.3,
      meanWords: 22.4,
      ended: 1,
      onTopic: 0.97,
      strayFact: 0.02,
    },
    wishes: [
      {
        name: 'no list',
        place: 'hint',
        phrases: 'training',
        answers: 64,
        met: 0.99,
        meanWords: 20,
      },
    ],
    smallFacts: 0.9,
    declined: 0.98,
  },
};

test('the rate peaks after the warm-up and falls to a fiftieth', () => {
  expect(learningRateAt(0, options)).toBeCloseTo(0.0001, 6);
  expect(learningRateAt(100, options)).toBeCloseTo(0.01, 6);
  expect(learningRateAt(550, options)).toBeCloseTo(0.01 * (0.02 + 0.49), 6);
  expect(learningRateAt(5000, options)).toBeCloseTo(0.0002, 6);
});

test('the measured section of the card is replaced and the rest stays', () => {
  const card = '# x\n<!-- measured: written by npm run make:claw-nano -->\nold\n<!-- /measured -->\nend\n';
  const once = replaceSection(card, 'new');
  expect(once).toContain('\nnew\n');
  expect(once).not.toContain('old');
  expect(once.startsWith('# x\n') && once.endsWith('end\n')).toBe(true);
  expect(replaceSection(once, 'new')).toBe(once);
  expect(() => replaceSection('no section', 'new')).toThrow('model card has no');
});

test('the report lists the measurements', () => {
  const text = describeReport(report);
  expect(text).toContain('| neither list nor greeting | 26 % |');
  expect(text).toContain('| 10 | 0.00 M | 0.300 | 0.310 |');
  expect(text).toContain('99 % (NaN %; NaN %)');
});

test('the picture spans the curve', () => {
  const svg = drawCurve(curve, 'title');
  expect(svg.match(/<path /g)).toHaveLength(2);
  expect(svg).toContain('>8</text>');
  expect(svg).toContain('>0.25</text>');
  expect(svg).not.toContain('NaN');
});
