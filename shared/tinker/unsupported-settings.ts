import type { TrainingSettings } from '../events/training-settings.ts';
import type { DialectName, ServerCapabilities } from './training-server.ts';

type Place = {
  readonly dialect: DialectName;
  readonly capabilities: ServerCapabilities;
};

type Needed = Pick<
  TrainingSettings,
  'training' | 'method' | 'distillation' | 'teacher' | 'alpha' | 'rank' | 'rehearsal'
>;

/** Each setting that a training server cannot follow, with the flag to change. The first that applies is named. */
const rules: readonly {
  readonly applies: (settings: Needed, place: Place) => boolean;
  readonly refusal: (settings: Needed, place: Place) => string;
}[] = [
  {
    applies: ({ training }) => training === 'full',
    refusal: () => 'it trains adapters, not all weights; set --training lora',
  },
  {
    applies: (_, { capabilities }) => !capabilities.adapterDownload,
    refusal: (_, { dialect }) => `a ${dialect} server does not give trained adapters away over HTTP`,
  },
  {
    applies: ({ method, distillation }, { capabilities: { severalTargets, topTokens } }) =>
      method !== 'binary' && distillation !== 'sampled' && !(severalTargets && topTokens),
    refusal: ({ distillation }, { dialect }) =>
      `a ${dialect} server takes one token per position, so distillation ${distillation} is impossible; set --collector-distillation sampled`,
  },
  {
    applies: ({ method, teacher }) => method !== 'binary' && teacher !== 'current' && teacher !== 'base',
    refusal: ({ teacher }) =>
      `it has no separate teacher ${teacher}; set --collector-teacher current or base`,
  },
  {
    applies: ({ alpha }, { capabilities: { fixedAlpha } }) =>
      fixedAlpha !== undefined && alpha !== fixedAlpha,
    refusal: ({ alpha }, { dialect, capabilities: { fixedAlpha } }) =>
      `a ${dialect} server always uses alpha ${fixedAlpha}, not ${alpha}; set --collector-alpha ${fixedAlpha}`,
  },
  {
    applies: ({ rank }, { capabilities }) =>
      capabilities.powerOfTwoRank && !Number.isInteger(Math.log2(rank)),
    refusal: ({ rank }, { dialect }) =>
      `a ${dialect} server takes only ranks that are powers of two, not ${rank}; set --collector-rank`,
  },
  {
    applies: ({ rehearsal }) => rehearsal > 0,
    refusal: () =>
      'rehearsal compares gradients, which a server does not give away; set --collector-rehearsal 0',
  },
];

/** Why a training server cannot train with these settings; undefined: it can. */
export function unsupportedSettings(settings: Needed, place: Place): string | undefined {
  const found = rules.find(({ applies }) => applies(settings, place));
  return found && `the training server cannot do this: ${found.refusal(settings, place)}`;
}
