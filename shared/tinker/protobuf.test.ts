import { expect, test } from 'vitest';
import { createDatum } from './datum.ts';
import { decodeLogProbs, decodeTopTokens, encodeTrainingCall } from './protobuf.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('a training call has the bytes that a SkyRL server accepts', () => {
  const datum = createDatum({ promptIds: [11, 12, 13], responseIds: [14] }, { weights: { values: [1] } });
  const call = { modelId: 'model_25fd2ac1', sequence: 1, loss: 'cross_entropy', datums: [datum] };
  expect(hex(encodeTrainingCall({ ...call, forwardOnly: false }))).toBe(
    '0a0e6d6f64656c5f323566643261633110011a640a100a0e0a0c0b0000000c0000000d00000012300a0d7461726765745f746f6b656e73121f0a180c000000000000000d000000000000000e000000000000001802220103121e0a077765696768747312130a0c00000000000000000000803f1801220103220d63726f73735f656e74726f7079',
  );
  expect(hex(encodeTrainingCall({ ...call, forwardOnly: true }))).toMatch(/3001$/);
});

test('the log-probs of an answer of a SkyRL server are read', () => {
  const answer = Buffer.from(
    '0a067363616c6172126a122e0a086c6f6770726f627312220a0cbc0cdec02a6aefc0b41c04c1121000000000000000000c00000000000000180112360a10656c656d656e74776973655f6c6f737312220a0c0000008000000080b41c0441121000000000000000000c0000000000000018011801',
    'hex',
  );
  const [logProbs] = decodeLogProbs(answer);
  expect(Array.from(logProbs!)).toEqual([-6.939054489135742, -7.4817094802856445, -8.257007598876953]);
});

test('an answer without the most likely tokens, or cut short, is an error', () => {
  const sampled = Buffer.from(
    '0a1e0801120c4003000029000000e90100001a0c2457d7c0acadd1c07e3fd0c01208bb0cdec0286aefc0',
    'hex',
  );
  expect(() => decodeTopTokens(sampled)).toThrow('topk_prompt_logprobs');
  expect(() => decodeLogProbs(Buffer.from('126a122e0a086c6f6770726f6273', 'hex'))).toThrow();
});
