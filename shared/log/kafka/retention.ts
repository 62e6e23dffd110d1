import type { Admin } from 'kafkajs';
import { logError } from '../errors.ts';
import type { TopicPlan } from './create-topics.ts';
import { errorType } from './kafka-errors.ts';
import { ConfigResourceTypes } from './kafkajs.ts';

/** The settings by which a topic deletes records by itself. */
const retention = ['cleanup.policy', 'retention.ms', 'retention.bytes'] as const;

/**
 * A fold reads earlier records long after it has passed them, so no topic may delete any.
 * @throws LogMismatch where an existing topic does; LogRefused where its settings may not be read
 */
export async function checkRetention(
  admin: Pick<Admin, 'describeConfigs'>,
  plans: readonly TopicPlan[],
): Promise<void> {
  const { resources } = await describe(admin, plans);
  const wrong = plans.flatMap((plan) => {
    const entries = resources.find(({ resourceName }) => resourceName === plan.topic)?.configEntries ?? [];
    const found = new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
    const settings = wrongSettings(plan, found);
    return settings.length === 0 ? [] : [{ plan, settings, found }];
  });
  if (wrong.length === 0) return;
  const sentences = wrong.map(({ plan: { topic }, settings, found }) => {
    const has = settings.map(([name]) => `${name}=${found.get(name)}`).join(', ');
    const needs = settings.map(([name, value]) => `${name}=${value}`).join(',');
    return `${topic} deletes records (${has}): kafka-configs.sh --alter --topic ${topic} --add-config ${needs}`;
  });
  throw logError('LogMismatch', sentences.join('; '));
}

/** Where a topic differs from its plan: names, and the values that they need. */
export const wrongSettings = (
  { settings }: Pick<TopicPlan, 'settings'>,
  found: ReadonlyMap<string, string>,
): readonly (readonly [name: string, value: string])[] =>
  retention.flatMap((name) => {
    const planned = settings[name];
    return planned === undefined || found.get(name) === planned ? [] : [[name, planned] as const];
  });

async function describe(admin: Pick<Admin, 'describeConfigs'>, plans: readonly TopicPlan[]) {
  try {
    return await admin.describeConfigs({
      includeSynonyms: false,
      resources: plans.map(({ topic }) => ({
        ...{ type: ConfigResourceTypes.TOPIC, name: topic },
        configNames: [...retention],
      })),
    });
  } catch (error) {
    if (errorType(error) !== 'TOPIC_AUTHORIZATION_FAILED') throw error;
    const names = plans.map(({ topic }) => topic).join(', ');
    throw logError('LogRefused', `give the user the right DescribeConfigs on ${names}`, error);
  }
}
