import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where `npm run setup:native` puts @tensorflow/tfjs-node and libtensorflow: outside of package.json's own
 * packages.
 */
export const nativeRoot: string = join(fileURLToPath(new URL('../../..', import.meta.url)), '.native');
