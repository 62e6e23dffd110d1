import { existsSync } from 'node:fs';
import { keyOf } from '../../../shared/config/configured-key.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import { type DataFolder, dataFolder } from '../../../shared/runtime/data-folder.ts';
import {
  batchSettings,
  commonSettings,
  consoleSettings,
  endpointSettings,
  engineSettings,
  judgeServerSettings,
  upSettings,
} from '../config.ts';
import type { ServiceName } from '../service-entry.ts';
import { healthOf } from './health-here.ts';
import { movePorts } from './move-ports.ts';
import { type Endpoint, endpointOf, reachableUrl } from './readiness.ts';
import type { RotationLimits } from './rotating-file.ts';
import { type RoutedFlags, routeFlags } from './route-flags.ts';
import type { HealthUrls } from './running.ts';

/** Everything that `up` decides before it touches the machine. */
export type UpPlan = RoutedFlags & {
  readonly common: ReturnType<typeof commonSettings>;
  readonly data: DataFolder;
  readonly endpoint: Endpoint;
  readonly health: HealthUrls;
  readonly engine: 'local' | 'upstream';
  /** models to fetch before any service starts */
  readonly models: readonly string[];
  /** samples per batch, for the live line */
  readonly batchSize: number;
  /** environment variables of a service that no command line may show */
  readonly secretsOf: Readonly<Partial<Record<ServiceName, Readonly<Record<string, string>>>>>;
  /** address of the console; undefined: it does not run */
  readonly consoleUrl: string | undefined;
  readonly logLimits: RotationLimits;
  readonly isFirstStart: boolean;
};

/** @throws UsageError, ConfigError */
export function planUp(argv: readonly string[]): UpPlan {
  const routed = routeFlags(argv);
  const { shared, byService } = routed;
  const common = commonSettings(shared);
  const endpoint = endpointOf(byService.serving);
  movePorts(routed, endpoint.port, consoleSettings(byService.console).port);
  const { batchSize, maxBatchSize, maxStaleness } = batchSettings(byService.collector);
  // in front, so that a flag meant for serving itself wins
  if (maxStaleness !== undefined) byService.serving.unshift('--max-staleness', String(maxStaleness));
  if (maxBatchSize !== undefined) byService.serving.unshift('--max-batch-size', String(maxBatchSize));
  if (batchSize !== undefined) byService.serving.unshift('--batch-size', String(batchSize));
  const { engine } = engineSettings(byService.serving);
  const judge = judgeServerSettings(byService.judge);
  const judgeSecrets = judge.hasOwnServer
    ? {}
    : pointJudgeAtServing(byService, endpoint, judge.openaiApiKey !== undefined);
  const data = dataFolder(common.dataFolder);
  const health = healthOf((name) => [...shared, ...byService[name]]);
  const { consoleUrl, consoleSecrets } = routed.hasConsole
    ? pointConsoleAtServices(byService, endpoint, health)
    : { consoleUrl: undefined, consoleSecrets: {} };
  return {
    ...routed,
    common,
    data,
    endpoint,
    health,
    engine,
    models: [common.model, ...(judge.judgeModel === undefined ? [] : [judge.judgeModel])],
    batchSize: batchSize ?? defaultTrainingSettings(common.model).batchSize,
    secretsOf: { judge: judgeSecrets, console: consoleSecrets },
    consoleUrl,
    logLimits: logLimitsOf(routed.up),
    isFirstStart: !existsSync(data.serviceLogs),
  };
}

function logLimitsOf(flags: readonly string[]): RotationLimits {
  const { serviceLogMib, serviceLogFiles } = upSettings(flags);
  return { mostBytes: serviceLogMib * 2 ** 20, files: serviceLogFiles };
}

/** A judge without a configured server uses our serving, with serving's access key unless it has a key. */
function pointJudgeAtServing(
  { serving, judge }: RoutedFlags['byService'],
  endpoint: Endpoint,
  hasKey: boolean,
): Readonly<Record<string, string>> {
  judge.push('--openai-base-url', `${endpoint.url}/v1`);
  const apiKey = keyOf(endpointSettings(serving));
  return apiKey === undefined || hasKey ? {} : { CLAWLOOP_JUDGE_OPENAI_API_KEY: apiKey };
}

/** The console asks serving and the health ports, and takes serving's access key unless it has its own. */
function pointConsoleAtServices(
  { serving, console: flags }: RoutedFlags['byService'],
  endpoint: Endpoint,
  health: HealthUrls,
) {
  const { host, port, ...own } = consoleSettings(flags);
  // in front, so that a flag of the console itself wins
  flags.unshift('--serving-url', endpoint.url);
  for (const [name, url] of Object.entries(health)) flags.unshift(`--${name}-url`, url ?? 'unknown');
  const apiKey = keyOf(endpointSettings(serving));
  const hasKey = keyOf(own) !== undefined;
  const consoleSecrets: Readonly<Record<string, string>> =
    apiKey === undefined || hasKey ? {} : { CLAWLOOP_CONSOLE_API_KEY: apiKey };
  return { consoleUrl: reachableUrl(host, port), consoleSecrets };
}
