import kafkajs from 'kafkajs';

// A CommonJS module, most of whose names Node cannot see from outside.
export const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel, Partitioners } =
  kafkajs;
