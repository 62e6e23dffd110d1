import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Outage } from './crowd-record.ts';
import type { Deployment } from './deployment.ts';
import type { Fault, ServiceName, Target } from './plan.ts';

const HOUR_MS = 3_600_000;

export type Injector = {
  /** Does it, and resolves when the deployment has got over it. What is still down is waited for first. */
  readonly inject: (fault: Fault) => Promise<void>;
  /** Until nothing is down, stopped or full any more. */
  readonly recovered: () => Promise<void>;
  /** When serving was away, by our doing. */
  readonly outages: readonly Outage[];
};

/** Carries faults out. At most one at a time on each target. */
export function createInjector(deployment: Deployment): Injector {
  const { services, kafka, redis, disk } = deployment;
  const busy = new Map<Target | 'disk', Promise<void>>();
  const clocks = new Map<ServiceName, number>();
  const outages: { from: number; to: number }[] = [];
  const service = (name: Target) => services.find((one) => one.name === name)!;

  const kill = async (target: Target, downMs: number): Promise<void> => {
    if (target === 'kafka') {
      await kafka!.kill();
      await delay(downMs);
      await kafka!.restart();
    } else if (target === 'redis') {
      await redis!.kill();
      await delay(downMs);
      await redis!.start();
    } else await service(target).kill(downMs);
  };

  const stop = async (target: Target, forMs: number): Promise<void> => {
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      if (target === 'kafka') kafka!.signal(name);
      else if (target === 'redis') name === 'SIGSTOP' ? redis!.freeze() : redis!.thaw();
      else service(target).signal(name);
    };
    signal('SIGSTOP');
    await delay(forMs);
    signal('SIGCONT');
  };

  const carryOut = async (fault: Fault): Promise<void> => {
    switch (fault.kind) {
      case 'kill': {
        const outage = { from: performance.now(), to: Number.POSITIVE_INFINITY };
        if (fault.target === 'serving') outages.push(outage);
        await kill(fault.target, fault.downMs);
        outage.to = performance.now();
        return;
      }
      case 'stop':
        return stop(fault.target, fault.forMs);
      case 'flush':
        return flushAll(redis!.url);
      case 'disk-full':
        disk!.fill();
        await delay(fault.forMs);
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
      const on = targetOf(fault);
      const before = busy.get(on);
      const now = (before ?? Promise.resolve()).then(() => carryOut(fault));
      busy.set(on, now);
      await now;
    },
    recovered: async () => void (await Promise.all(busy.values())),
  };
}

export const targetOf = (fault: Fault): Target | 'disk' =>
  fault.kind === 'flush' ? 'redis' : fault.kind === 'disk-full' ? 'disk' : fault.target;

async function flushAll(url: string): Promise<void> {
  const client = new Redis(url);
  client.on('error', () => undefined);
  try {
    await client.flushall();
  } finally {
    client.disconnect();
  }
}
