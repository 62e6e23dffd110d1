// Loaded into each service by NODE_OPTIONS: collects once per second, so that readings of memory hold no garbage.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
setInterval(collect, 1000).unref();
