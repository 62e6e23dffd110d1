import { createHash } from 'node:crypto';
import { openWasm } from '../../../shared/policy/executors/wasm.ts';
import { createEncoder, type Encoder } from './encoder/encoder.ts';
import { readEncoder, readEncoderCard } from './encoder/read-encoder.ts';
import type { EarModel } from './model.ts';
import { earFolder, readCard, readEar, type Thresholds } from './read-ear.ts';

/** The ear with both of its readers. */
export type OpenEar = {
  readonly traits: EarModel;
  readonly encoder: Encoder;
  /** of the traits alone */
  readonly thresholds: Thresholds;
};

let opening: Promise<OpenEar> | undefined;

/** Opens the ear of this version, once per thread. Throws EAR_UNREADABLE. */
export function openEar(): Promise<OpenEar> {
  opening ??= load();
  return opening;
}

async function load(): Promise<OpenEar> {
  const { model: traits, thresholds } = readEar(earFolder);
  const encoder = createEncoder(await openWasm(), readEncoder(earFolder));
  return { traits, encoder, thresholds };
}

/** SHA-256 over the weights of both readers, hexadecimal. */
export const earDigest = (): string =>
  createHash('sha256')
    .update(`${readCard(earFolder).digest} ${readEncoderCard(earFolder).digest}`)
    .digest('hex');
