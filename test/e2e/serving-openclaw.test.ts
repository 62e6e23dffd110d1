import { builtRequests } from '../openclaw-requests/built-requests.ts';
import { servingSuite } from '../openclaw-requests/serving-suite.ts';

servingSuite('requests in the shape of OpenClaw', builtRequests);
