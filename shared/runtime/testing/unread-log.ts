import { createLogger } from '../logger.ts';

// Logs more than its parent buffers without reading (64 KiB) and less than the socket buffers; more after a message.

const logger = createLogger('unread', 'info');
for (let line = 0; line < 110; line++) logger.info('x'.repeat(1_000));
process.send?.('written');
process.once('message', () => {
  for (const words of ['nobody', 'reads', 'this']) logger.info(words);
  process.exit(0);
});
