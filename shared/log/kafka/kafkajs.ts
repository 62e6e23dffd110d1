import kafkajs from 'kafkajs';

// Node cannot detect most named exports of this CommonJS module.
export const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel, Partitioners } =
  kafkajs;
