import { z } from 'zod';

/** Where the log is: what every service and every command that reads it takes. */
export const LogConfig = z.object({
  log: z
    .enum(['sqlite', 'kafka'])
    .default('sqlite')
    .describe('sqlite: a file in the data folder, for one machine; kafka: a cluster, for any number'),
  kafkaBrokers: z
    .array(z.string().regex(/^[^\s:]+:\d+$|^\[[^\]]+\]:\d+$/, 'host:port'))
    .min(1)
    .default(['127.0.0.1:9092'])
    .describe('log kafka: addresses of brokers, host:port, one or more of the cluster'),
  kafkaPrefix: z
    .string()
    .regex(/^[\w.-]*$/)
    .default('clawloop.')
    .describe('log kafka: what every topic and group begins with; one per deployment'),
  kafkaSsl: z.boolean().default(false).describe('log kafka: TLS'),
  kafkaCaFile: z.string().optional().describe('log kafka: certificate authorities of the brokers, PEM'),
  kafkaSaslMechanism: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'])
    .optional()
    .describe('log kafka: how to log in; not at all without it'),
  kafkaSaslUsername: z.string().optional().describe('log kafka: user'),
  kafkaSaslPassword: z.string().optional().describe('log kafka: password'),
});
export type LogConfig = z.output<typeof LogConfig>;
