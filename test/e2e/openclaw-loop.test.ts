import { builtRequests } from '../openclaw-requests/built-requests.ts';
import { loopSuite } from '../openclaw-requests/loop-suite.ts';

loopSuite('requests in the shape of OpenClaw, through the whole loop', builtRequests);
