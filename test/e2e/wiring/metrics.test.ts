import { testReportedMetrics } from './reported-metrics.ts';

testReportedMetrics(() => []);
