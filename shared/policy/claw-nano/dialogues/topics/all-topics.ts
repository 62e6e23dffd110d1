import { animals } from './animals.ts';
import { meals, parties, recipes } from './food.ts';
import { garden, saving, tidying } from './home.ts';
import { exercise, hobbies, studying, wellbeing } from './mind-and-body.ts';
import { days, gifts, pets } from './people.ts';
import type { Family, Topic } from './topic.ts';
import { packing, sights, weather } from './travel.ts';

export const families: readonly Family[] = [
  packing,
  sights,
  weather,
  recipes,
  meals,
  parties,
  tidying,
  saving,
  garden,
  gifts,
  days,
  pets,
  studying,
  exercise,
  wellbeing,
  hobbies,
  animals,
];

export const topics: readonly Topic[] = families.flatMap((family) =>
  family.entries.map((entry) => ({ id: `${family.name}/${entry.topic}`, family, entry })),
);
