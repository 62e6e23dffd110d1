import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PhraseKind } from './dialogues/wishes.ts';
import type { Measurements } from './measure.ts';
import type { TrainingOptions } from './train.ts';
import { type CurvePoint, drawCurve } from './training-curve.ts';

/** The options and results of one run of `make:claw-nano`. */
export type TrainingReport = {
  readonly options: TrainingOptions;
  readonly seconds: number;
  readonly backend: string;
  readonly threads: number;
  readonly curve: readonly CurvePoint[];
  readonly measured: Measurements;
};

const start = '<!-- measured: written by npm run make:claw-nano -->';
const end = '<!-- /measured -->';

/** Writes the report as JSON, the training curve, and the measured section of the model card. */
export async function writeReport(
  report: TrainingReport,
  to: { readonly json: string; readonly docs: string },
): Promise<void> {
  const curve = report.curve.map((point) => ({
    ...point,
    trainingLoss: Number(point.trainingLoss.toFixed(4)),
    heldOutLoss: Number(point.heldOutLoss.toFixed(4)),
  }));
  await writeFile(to.json, `${JSON.stringify({ ...report, curve }, null, 1)}\n`);
  await writeFile(
    join(to.docs, 'claw-nano-training.svg'),
    drawCurve(curve, 'claw-nano: cross entropy of the assistant\u2019s tokens'),
  );
  const cardPath = join(to.docs, 'claw-nano.md');
  const card = await readFile(cardPath, 'utf8').catch(() => `${start}\n${end}\n`);
  await writeFile(cardPath, replaceSection(card, describeReport(report)));
}

/** Throws if the card has no markers for the section. */
export function replaceSection(card: string, section: string): string {
  const from = card.indexOf(start);
  const to = card.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the model card has no "${start}" or no "${end}"`);
  return `${card.slice(0, from + start.length)}\n${section}\n${card.slice(to)}`;
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** The measured section as Markdown. */
export function describeReport({
  options,
  seconds,
  backend,
  threads,
  curve,
  measured,
}: TrainingReport): string {
  const last = curve.at(-1)!;
  const { free, settings } = measured;
  const points = curve.filter(
    (_, index) => index % Math.ceil(curve.length / 12) === 0 || index === curve.length - 1,
  );
  return [
    `Seed \`${options.seed}\`, ${last.step} steps, ${(last.tokens / 1e6).toFixed(2)} M tokens, ` +
      `${(seconds / 60).toFixed(1)} minutes with ${threads} threads (${backend.split(',')[0]}).`,
    '',
    '| step | tokens | training loss | held-out loss |',
    '|---:|---:|---:|---:|',
    ...points.map(
      (point) =>
        `| ${point.step} | ${(point.tokens / 1e6).toFixed(2)} M | ${point.trainingLoss.toFixed(3)} | ` +
        `${point.heldOutLoss.toFixed(3)} |`,
    ),
    '',
    `Sampled at temperature ${settings.temperature}, top_p ${settings.topP}, top_k ${settings.topK}. ` +
      `Answers to held-out prompts when no style is asked for (${free.answers}):`,
    '',
    '| trait | share |',
    '|---|---:|',
    `| has a list | ${percent(free.list)} |`,
    `| opens with a greeting | ${percent(free.greeting)} |`,
    `| neither list nor greeting | ${percent(free.neither)} |`,
    `| ends with a friendly line | ${percent(free.closing)} |`,
    `| names three items of the topic or more | ${percent(free.onTopic)} |`,
    `| names an item that does not belong there | ${percent(free.strayFact)} |`,
    `| ends by itself | ${percent(free.ended)} |`,
    `| mean words | ${free.meanWords} |`,
    '',
    `Small questions answered right: ${percent(measured.smallFacts)}. ` +
      `Input that it was not made for is declined: ${percent(measured.declined)}.`,
    '',
    'A wish beside a held-out prompt is met (in brackets: sentences of the same kind that training never showed; ' +
      'sentences in quite other words; `short` means ' +
      'at most three items and no friendly line, `more detail` four items or more):',
    '',
    '| wish | after the request | hint | system message |',
    '|---|---:|---:|---:|',
    ...wishRows(measured),
  ].join('\n');
}

function wishRows({ wishes }: Measurements): readonly string[] {
  const names = [...new Set(wishes.map(({ name }) => name))];
  const cell = (name: string, place: string): string => {
    const met = (phrases: PhraseKind): string =>
      percent(
        wishes.find((row) => row.name === name && row.place === place && row.phrases === phrases)?.met ??
          Number.NaN,
      );
    return `${met('training')} (${met('held-out')}; ${met('unlike')})`;
  };
  return names.map(
    (name) =>
      `| ${name} | ${['after the request', 'hint', 'system message'].map((place) => cell(name, place)).join(' | ')} |`,
  );
}
