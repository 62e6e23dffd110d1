import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { until } from '../../e2e/harness/clawloop.ts';
import type { Outage } from './crowd-record.ts';
import type { Deployment } from './deployment.ts';
import { outboxDepth } from './exposure.ts';
import { type Fault, type ServiceName, serviceNames, type Target } from './plan.ts';

const HOUR_MS = 3_600_000;
/** ms that a disk may stay full beyond its time, until an answer is affected */
const FELT_LIMIT_MS = 20_000;

export type Injector = {
  /** Injects the fault, and resolves when the deployment has recovered. Waits first for targets that are still down. */
  readonly inject: (fault: Fault) => Promise<void>;
  /** Resolves when nothing is down, stopped or full any more. */
  readonly recovered: () => Promise<void>;
  /** Outages of serving that these faults caused. */
  readonly outages: readonly Outage[];
};

/** Injects faults, at most one at a time on each target. */
export function createInjector(
  deployment: Pick<Deployment, 'services' | 'kafka' | 'redis' | 'disk' | 'dataFolder' | 'setClock'>,
): Injector {
  const { services, kafka, redis, disk } = deployment;
  const busy = new Map<Target | 'disk', Promise<void>>();
  const clocks = new Map<ServiceName, number>();
  const outages: { from: number; to: number }[] = [];
  const service = (name: Target, replica: number) => {
    const all = services.filter((one) => one.name === name);
    return all[replica % all.length]!;
  };

  const kill = async (target: Target, replica: number, downMs: number): Promise<void> => {
    if (target === 'kafka') {
      await kafka!.kill();
      await delay(downMs);
      await kafka!.restart();
    } else if (target === 'redis') {
      await redis!.kill();
      await delay(downMs);
      await redis!.start();
    } else await service(target, replica).kill(downMs);
  };

  const stop = async (target: Target, replica: number, forMs: number): Promise<void> => {
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      if (target === 'kafka') kafka!.signal(name);
      else if (target === 'redis') name === 'SIGSTOP' ? redis!.freeze() : redis!.thaw();
      else service(target, replica).signal(name);
    };
    signal('SIGSTOP');
    await delay(forMs);
    signal('SIGCONT');
  };

  const whileServingIsAway = async (work: () => Promise<void>): Promise<void> => {
    const outage = { from: performance.now(), to: Number.POSITIVE_INFINITY };
    outages.push(outage);
    await work();
    outage.to = performance.now();
  };

  const cutPower = async (): Promise<void> => {
    const brokers = [
      ...(kafka === undefined ? [] : [kill('kafka', 0, 0)]),
      ...(redis === undefined ? [] : [kill('redis', 0, 0)]),
    ];
    await Promise.all([...brokers, ...services.map((one) => one.kill(100))]);
  };

  const carryOut = async (fault: Fault): Promise<void> => {
    switch (fault.kind) {
      case 'kill': {
        const { target, replica, downMs } = fault;
        return target === 'serving'
          ? whileServingIsAway(() => kill(target, replica, downMs))
          : kill(target, replica, downMs);
      }
      case 'restart': {
        const one = service(fault.target, 0);
        if (fault.release !== undefined) one.useRelease(fault.release);
        return fault.target === 'serving' ? whileServingIsAway(one.restart) : one.restart();
      }
      case 'stop':
        return stop(fault.target, fault.replica, fault.forMs);
      case 'power-cut':
        return whileServingIsAway(cutPower);
      case 'flush':
        return flushAll(redis!.url);
      case 'disk-full':
        disk!.fill(() => shrinkLog(deployment.dataFolder));
        await delay(fault.forMs);
        await isFelt(deployment.dataFolder);
        return disk!.makeRoom();
      case 'clock': {
        const offset = (clocks.get(fault.target) ?? 0) + fault.hours * HOUR_MS;
        clocks.set(fault.target, offset);
        return deployment.setClock(fault.target, offset);
      }
    }
  };

  return {
    outages,
    inject: async (fault) => {
      const on = targetsOf(fault);
      const now = Promise.all(on.map((target) => busy.get(target))).then(() => carryOut(fault));
      for (const target of on) busy.set(target, now);
      await now;
    },
    recovered: async () => void (await Promise.all(busy.values())),
  };
}

function targetsOf(fault: Fault): readonly (Target | 'disk')[] {
  switch (fault.kind) {
    case 'power-cut':
      return [...serviceNames, 'kafka', 'redis', 'disk'];
    case 'disk-full':
      return ['disk'];
    case 'flush':
      return ['redis'];
    default:
      return [fault.target];
  }
}

/** A slow machine may have given no answer by then, so this does not fail. A test that needs the effect checks it. */
async function isFelt(dataFolder: string): Promise<void> {
  const waits = () => outboxDepth(dataFolder) > 0;
  await until('a fact waits for room', waits, FELT_LIMIT_MS).catch(() => undefined);
}

async function flushAll(url: string): Promise<void> {
  const client = new Redis(url);
  client.on('error', () => undefined);
  try {
    await client.flushall();
  } finally {
    client.disconnect();
  }
}

/** SQLite overwrites its write-ahead log without growing the file, so it would not notice the full disk. */
export function shrinkLog(dataFolder: string): void {
  const database = new DatabaseSync(join(dataFolder, 'log', 'log.sqlite'), { timeout: 1_000 });
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}
