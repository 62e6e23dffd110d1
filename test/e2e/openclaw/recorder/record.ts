import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { z } from 'zod';
import { chatMessage } from '../../../../shared/events/chat-message.ts';
import {
  type OpenClawRequests,
  type OpenClawScenario,
  type ScenarioName,
  scenarioNames,
} from '../../../openclaw-requests/requests.ts';
import { openClawHomeWith } from '../gateway.ts';
import { installOpenClaw, OPENCLAW_VERSION, openClawCache } from '../install.ts';
import { installQwenPlugin } from './qwen-plugin.ts';
import { recordingUpstream } from './recording-upstream.ts';
import { providerSettings, recordedScenarios } from './scenarios.ts';

/** One JSON file per scenario, in a folder that git ignores: the requests hold OpenClaw's own prompts. */
export const recordingsFolder = join(openClawCache, 'requests');
/** Homes at the same time; each is a process of about 500 MB. */
const AT_ONCE = 2;

const recording = z.object({
  openclaw: z.string(),
  session: z.string(),
  childSession: z.string().optional(),
  requests: z.array(
    z.object({
      time: z.iso.datetime(),
      outcome: z.enum(['answered', 'dropped']),
      headers: z.record(z.string(), z.string()),
      body: z.looseObject({ messages: z.array(chatMessage), tools: z.array(z.unknown()).optional() }),
    }),
  ),
});

/**
 * Drives the pinned OpenClaw through every scenario and stores its requests. Installs OpenClaw first if necessary.
 * Parts of OpenClaw's own start time out after five seconds, so scenarios that fail on a busy machine are retried
 * alone. The older recordings stay until all scenarios are done.
 */
export async function recordOpenClaw(tell: (line: string) => void = () => {}): Promise<OpenClawRequests> {
  await installOpenClaw(tell);
  await installQwenPlugin();
  const part = `${recordingsFolder}.part-${process.pid}`;
  mkdirSync(part, { recursive: true });
  try {
    const record = async (name: ScenarioName) => {
      const scenario = await recordScenario(name);
      const stored = { openclaw: OPENCLAW_VERSION, ...scenario };
      writeFileSync(join(part, `${name}.json`), JSON.stringify(stored, null, 1));
      tell(`${name}: ${scenario.requests.length} requests`);
    };
    const failed: ScenarioName[] = [];
    const queue = new PQueue({ concurrency: AT_ONCE });
    const recordOrPutOff = (name: ScenarioName) =>
      record(name).catch((error: Error) => {
        tell(`${name} will be retried later: ${error.message.slice(0, 300)}`);
        failed.push(name);
      });
    await Promise.all(scenarioNames.map((name) => queue.add(() => recordOrPutOff(name))));
    for (const name of failed) await record(name).catch(() => record(name));
    rmSync(recordingsFolder, { recursive: true, force: true });
    renameSync(part, recordingsFolder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  return readRecordings();
}

async function recordScenario(name: ScenarioName): Promise<OpenClawScenario> {
  const { settings = providerSettings, answer, play } = recordedScenarios[name];
  const upstream = await recordingUpstream(answer());
  const home = await openClawHomeWith(settings(upstream.url));
  try {
    return await play(home, upstream);
  } finally {
    await home.dispose();
    await upstream.close();
  }
}

/** The latest recordings of `recordOpenClaw`. */
export function readRecordings(): OpenClawRequests {
  const read = (name: ScenarioName): OpenClawScenario =>
    recording.parse(JSON.parse(readFileSync(join(recordingsFolder, `${name}.json`), 'utf8')));
  return Object.fromEntries(scenarioNames.map((name) => [name, read(name)])) as Record<
    ScenarioName,
    OpenClawScenario
  >;
}

if (import.meta.main) {
  await recordOpenClaw((line) => console.log(line));
  console.log(`stored in ${recordingsFolder}: ${readdirSync(recordingsFolder).join(', ')}`);
}
