import { hash } from '../features.ts';
import type { Row } from './read-rows.ts';

/** Neighbours in a file are about one thing and often alike: they are held out together. Rows. */
const PASSAGE = 15;

/** Which part of the data a row is held out with. */
export const foldOf = ({ file }: Row, index: number, folds: number): number =>
  (hash(`${file}/${Math.floor(index / PASSAGE)}`) >>> 8) % folds;
