import { entry, type Family } from './topic.ts';

export const animals: Family = {
  name: 'animals',
  asks: [
    'Tell me about {topic}.',
    'What do you know about {topic}?',
    'What is special about {topic}?',
    'I have to write about {topic}. What should I know?',
    'Can you tell me something about {topic}?',
    'My daughter loves {topic}. What can I tell her?',
    'What are {topic} like?',
  ],
  listLeads: [
    'Here are some facts about {topic}:',
    'These things are true of {topic}:',
    'This is good to know about {topic}:',
  ],
  proses: [
    'A few facts about {topic}: {items}.',
    'People like {topic} because {items}.',
    'It is true of {topic} that {items}.',
  ],
  remarks: ['Nature is full of wonders.', 'A good book will tell you more.', 'You may see one in a zoo.'],
  entries: [
    entry(
      'foxes',
      'they live in dens, they eat mice, they hunt at night, they have bushy tails, they are shy',
      'Some of them live in cities.',
    ),
    entry(
      'elephants',
      'they live in herds, they eat grass, they have long trunks, they remember places, they love mud',
      'Old cows lead the herd.',
    ),
    entry(
      'penguins',
      'they cannot fly, they swim very well, they eat fish, they live in the south, they walk upright',
      'Both parents keep the egg warm.',
    ),
    entry(
      'owls',
      'they fly without a sound, they see well in the dark, they turn their heads far, they catch mice, they sleep by day',
      'You can hear them at night.',
    ),
    entry(
      'bees',
      'they make honey, they visit flowers, they have one queen, they dance to talk, they live in a hive',
      'Without them there is little fruit.',
    ),
    entry(
      'dolphins',
      'they are clever, they breathe air, they live in groups, they jump out of the water, they talk in whistles',
      'They are no fish.',
    ),
    entry(
      'hedgehogs',
      'they have spines, they eat beetles, they roll into a ball, they sleep all winter, they come out at dusk',
      'Do not give them milk.',
    ),
    entry(
      'camels',
      'they live in the desert, they store fat in humps, they drink a lot at once, they carry loads, they close their noses',
      'Some have two humps.',
    ),
  ],
};
