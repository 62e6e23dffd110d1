import { builtRequests } from '../../test/openclaw-requests/built-requests.ts';
import { judgingSuite } from '../../test/openclaw-requests/judging-suite.ts';

judgingSuite('requests in the shape of OpenClaw', builtRequests);
