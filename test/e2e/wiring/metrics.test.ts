import { tellsItsFigures } from './tells-its-figures.ts';

tellsItsFigures(() => []);
