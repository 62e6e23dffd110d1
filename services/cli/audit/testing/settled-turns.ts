import { workerData } from 'node:worker_threads';
import { createAudit } from '../audit.ts';
import type { Audited } from '../audited.ts';
import { records, trained } from './facts.ts';

// Audits turns one after the other, in a thread with a small heap. Each turn is a copy of the first under another id.

const { turns } = workerData as { readonly turns: number };
const audit = createAudit();
const first = JSON.stringify(records(trained('turn-0')));

for (const topic of ['conversations', 'turns', 'training'] as const)
  for (let n = 0; n < turns; n++) {
    const facts: readonly Audited[] = JSON.parse(first.replaceAll('turn-0', `turn-${n}`));
    const ofTopic = facts.filter((record) => record.topic === topic);
    for (const record of ofTopic) {
      const offset = n * ofTopic.length + record.at.offset;
      audit.on({ ...record, at: { partition: 0, offset } });
    }
  }
const { broken, counts } = audit.report();
if (broken.length > 0 || counts.interactions !== turns)
  throw new Error(`${counts.interactions}: ${broken[0]}`);
