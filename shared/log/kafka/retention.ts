import type { Admin } from 'kafkajs';
import { logError } from '../errors.ts';
import { errorType } from './kafka-errors.ts';
import { ConfigResourceTypes } from './kafkajs.ts';

/** A topic of the log with all its settings. */
export type TopicPlan = {
  readonly topic: string;
  readonly partitions: number;
  readonly settings: Readonly<Record<string, string>>;
};

/** The settings that make a topic delete records. */
const retention = ['cleanup.policy', 'retention.ms', 'retention.bytes'] as const;

/**
 * A fold rereads earlier records at any later time, so no topic may delete records.
 * @throws LogMismatch if an existing topic does; LogRefused if the user may not read its settings
 */
export async function checkRetention(
  admin: Pick<Admin, 'describeConfigs'>,
  plans: readonly TopicPlan[],
): Promise<void> {
  const { resources } = await describe(admin, plans);
  const wrong = plans.flatMap((plan) => {
    const entries = resources.find(({ resourceName }) => resourceName === plan.topic)?.configEntries ?? [];
    const current = new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
    const settings = wrongSettings(plan, current);
    return settings.length === 0 ? [] : [{ plan, settings, current }];
  });
  if (wrong.length === 0) return;
  const sentences = wrong.map(({ plan: { topic }, settings, current }) => {
    const has = settings.map(([name]) => `${name}=${current.get(name)}`).join(', ');
    const needs = settings.map(([name, value]) => `${name}=${value}`).join(',');
    return `${topic} deletes records (${has}): kafka-configs.sh --alter --topic ${topic} --add-config ${needs}`;
  });
  throw logError('LogMismatch', sentences.join('; '));
}

/** The settings in which a topic differs from its plan, with the planned values. */
const wrongSettings = (
  { settings }: Pick<TopicPlan, 'settings'>,
  current: ReadonlyMap<string, string>,
): readonly (readonly [name: string, value: string])[] =>
  retention.flatMap((name) => {
    const planned = settings[name];
    return planned === undefined || current.get(name) === planned ? [] : [[name, planned] as const];
  });

async function describe(admin: Pick<Admin, 'describeConfigs'>, plans: readonly TopicPlan[]) {
  try {
    return await admin.describeConfigs({
      includeSynonyms: false,
      resources: plans.map(({ topic }) => ({
        type: ConfigResourceTypes.TOPIC,
        name: topic,
        configNames: [...retention],
      })),
    });
  } catch (error) {
    if (errorType(error) !== 'TOPIC_AUTHORIZATION_FAILED') throw error;
    const names = plans.map(({ topic }) => topic).join(', ');
    throw logError(
      'LogRefused',
      `cannot read the settings of ${names}: grant the user DescribeConfigs on them`,
      error,
    );
  }
}
