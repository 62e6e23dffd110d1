import { type Dialect, dialects } from '../../shared/tinker/dialects.ts';

/** The generated table of docs/operate/hosted-training.md. */
export const dialectTable = (): string =>
  [
    `| | ${Object.keys(dialects).join(' | ')} |`,
    `|---|${Object.keys(dialects)
      .map(() => '---')
      .join('|')}|`,
    ...rows.map(([name, show]) => `| ${name} | ${Object.values(dialects).map(show).join(' | ')} |`),
  ].join('\n');

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');

const sources = {
  archive: 'an archive',
  external: 'signed links',
  promoted: 'a model of the account',
  none: 'not over HTTP',
} as const satisfies Record<Dialect['adapter'], string>;

const rows: readonly (readonly [string, (dialect: Dialect) => string])[] = [
  ['gradient as', ({ surrogate }) => surrogate.loss.replace('_', ' ')],
  ['adds up or averages', ({ surrogate }) => (surrogate.averages ? 'averages' : 'adds up')],
  ['body', ({ body }) => body],
  ['distillation `topk`, `overlap`', ({ capabilities }) => yesNo(capabilities.severalTargets)],
  ['clips gradients', ({ capabilities }) => yesNo(capabilities.gradientClip)],
  [
    "AdamW's numbers",
    ({ capabilities: { adamPerRequest, largestBeta } }) =>
      !adamPerRequest
        ? "the server's, but the rate"
        : `of each request${largestBeta === undefined ? '' : `, betas to ${largestBeta}`}`,
  ],
  [
    'alpha',
    ({ capabilities }) => (capabilities.fixedAlpha === undefined ? 'any' : `${capabilities.fixedAlpha}`),
  ],
  ['rank', ({ capabilities }) => (capabilities.powerOfTwoRank ? 'a power of two' : 'any')],
  ['knows repeated requests', ({ capabilities }) => yesNo(capabilities.deduplicates)],
  ['removes old states', ({ capabilities }) => yesNo(capabilities.deletesStates)],
  ['adapter comes as', ({ adapter }) => sources[adapter]],
];
