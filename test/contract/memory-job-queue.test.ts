import { openMemoryQueue } from '../../shared/queue/memory/open-memory-queue.ts';
import { jobQueueContract } from './job-queue.ts';

jobQueueContract('memory', async (name, settings) => openMemoryQueue(name, settings));
