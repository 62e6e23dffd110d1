import { entry, type Family } from './topic.ts';

export const gifts: Family = {
  name: 'gifts',
  asks: [
    'What is a good gift for {topic}?',
    'I need a present for {topic}. Any ideas?',
    'What can I give {topic}?',
    'Help me find a gift for {topic}.',
    'What would {topic} like as a present?',
    'Do you have gift ideas for {topic}?',
    'What should I buy for {topic}?',
    'It is a birthday soon. What do I get for {topic}?',
  ],
  listLeads: ['Here are gift ideas for {topic}:', 'These presents are nice for {topic}:'],
  proses: [
    'For {topic}, think of {items}.',
    'I would give {topic} {items}.',
    'Good gifts for {topic} are {items}.',
  ],
  remarks: ['Wrap it in nice paper.', 'Add a card with kind words.', 'It is the thought that counts.'],
  entries: [
    entry(
      'my mother',
      'a silk scarf, a photo book, her favourite flowers, a day at a spa, a cook book',
      'Bring breakfast in bed with it.',
    ),
    entry(
      'my father',
      'a leather belt, a tool set, a jar of good coffee, a chess game, a fishing trip',
      'Spend the day with him.',
    ),
    entry(
      'a small child',
      'building blocks, a picture book, a teddy bear, crayons, a toy train',
      'Check the age on the box.',
    ),
    entry(
      'my best friend',
      'concert tickets, a funny mug, a playlist, a bracelet, a box of sweets',
      'A letter makes it special.',
    ),
    entry(
      'a teacher',
      'a plant, a nice pen, home-made cookies, a thank-you card, a tote bag',
      'Let the whole class sign it.',
    ),
    entry(
      'my grandmother',
      'a warm blanket, a framed photo, hand cream, a puzzle, a tin of tea',
      'Visit her for an afternoon.',
    ),
    entry(
      'a colleague',
      'a desk plant, a travel cup, a notebook, fine chocolate, a small lamp',
      'Keep it simple at work.',
    ),
  ],
};

export const days: Family = {
  name: 'days',
  asks: [
    'What can I do on {topic}?',
    'How should I spend {topic}?',
    'Plan {topic} for me.',
    'I am bored. What can we do on {topic}?',
    'Do you have ideas for {topic}?',
    'Please help me plan {topic}.',
    'What is fun on {topic}?',
  ],
  listLeads: ['Here are ideas for {topic}:', 'These things are fun on {topic}:'],
  proses: [
    'On {topic}, you could {items}.',
    'A nice plan for {topic} is to {items}.',
    'I would {items} on {topic}.',
  ],
  remarks: ['Take a break now and then.', 'Invite a friend to join you.', 'Leave your phone at home.'],
  entries: [
    entry(
      'a rainy day',
      'bake bread, read a novel, visit a museum, do a jigsaw puzzle, watch old films',
      'Jump in a puddle once.',
    ),
    entry(
      'a sunny Sunday',
      'ride your bike, swim in a lake, have lunch outside, fly a kite, walk in the woods',
      'Use sunscreen.',
    ),
    entry(
      'a free evening',
      'call an old friend, cook something new, draw a picture, take a warm bath, play cards',
      'Go to bed in time.',
    ),
    entry(
      'a snowy day',
      'build a snowman, go sledding, drink hot cocoa, feed the birds, knit a scarf',
      'Keep your feet dry.',
    ),
    entry(
      'a day with the kids',
      'go to the zoo, play hide and seek, paint stones, bake cookies, build a fort',
      'Let the kids choose first.',
    ),
    entry(
      'a lazy Saturday',
      'sleep late, make waffles, listen to records, water the plants, nap on the sofa',
      'You have earned it.',
    ),
    entry(
      'a day off work',
      'visit the market, clear your head at the sea, repair your bike, write a letter, try a new cafe',
      'Do not read work mail.',
    ),
  ],
};

export const pets: Family = {
  name: 'pets',
  asks: [
    'What does {topic} need?',
    'How do I look after {topic}?',
    'How do I care for {topic}?',
    'We are getting {topic}. What do we need?',
    'What should I know before I get {topic}?',
    'What do I need to keep {topic}?',
  ],
  listLeads: ['Here is what {topic} needs:', 'These things are good for {topic}:'],
  proses: [
    'To keep {topic} happy, get {items}.',
    'As a rule, {topic} needs {items}.',
    'You should have {items} for {topic}.',
  ],
  remarks: ['Be gentle and patient.', 'See the vet once a year.', 'Spend time with your pet every day.'],
  entries: [
    entry('a puppy', 'a leash, puppy food, a soft bed, chew toys, three walks a day', 'Praise it a lot.'),
    entry(
      'a cat',
      'a litter box, a scratching post, wet food, a sunny window, a brush',
      'Let it come to you.',
    ),
    entry(
      'a goldfish',
      'a big tank, a filter, clean water, fish flakes, water plants',
      'Do not feed too much.',
    ),
    entry(
      'a rabbit',
      'fresh hay, a roomy hutch, a friend, leafy greens, a place to dig',
      'Never keep just one.',
    ),
    entry(
      'a parrot',
      'a wide cage, seeds and fruit, climbing ropes, a bath, someone to talk to',
      'It can live very long.',
    ),
    entry(
      'a hamster',
      'a running wheel, wood chips, a little house, grains, a water bottle',
      'It sleeps by day.',
    ),
  ],
};
