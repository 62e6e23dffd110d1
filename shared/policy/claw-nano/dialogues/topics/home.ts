import { entry, type Family } from './topic.ts';

export const tidying: Family = {
  name: 'tidying',
  asks: [
    'How do I tidy {topic}?',
    'What is the best way to clean {topic}?',
    'Help me clean up {topic}.',
    'It is a mess. Where do I start with {topic}?',
    'Can you tell me how to tidy up {topic}?',
    'I have one hour for {topic}. How do I clean it?',
    'Guests are coming. How do I get {topic} clean?',
  ],
  listLeads: ['Here is how to tidy {topic}:', 'These steps help to tidy {topic}:'],
  proses: [
    'To tidy {topic}, {items}.',
    'A good way to clean {topic} is to {items}.',
    'When you clean {topic}, {items}.',
  ],
  remarks: ['Put on some music.', 'Ten minutes a day are enough.', 'Open a window while you work.'],
  entries: [
    entry(
      'the bedroom',
      'make the bed, fold the clothes, dust the shelves, empty the laundry basket, sweep under the bed',
      'A made bed changes the whole room.',
    ),
    entry(
      'the kitchen',
      'wash the dishes, wipe the counter, clean the sink, take out the trash, scrub the stove',
      'Start with the dishes.',
    ),
    entry(
      'the bathroom',
      'rinse the shower, polish the mirror, scrub the toilet, hang fresh towels, mop the tiles',
      'Let the cleaner work for a while.',
    ),
    entry(
      'my desk',
      'sort the papers, throw away old notes, wipe the screen, put the pens in a cup, hide the cables',
      'Keep only what you use.',
    ),
    entry(
      'the garage',
      'sweep the floor, hang up the tools, give away old toys, label the boxes, stack the tires',
      'Start near the door.',
    ),
    entry(
      'the car',
      'shake out the mats, vacuum the seats, wipe the dashboard, collect the bottles, wash the windows',
      'Park it in the shade.',
    ),
    entry(
      'the wardrobe',
      'take everything out, try on old clothes, pair the socks, hang up the shirts, donate what is too small',
      'Be honest about what you wear.',
    ),
  ],
};

export const saving: Family = {
  name: 'saving',
  asks: [
    'How can I save {topic}?',
    'What helps to save {topic}?',
    'I want to save {topic}. What can I do?',
    'Any tips to save {topic}?',
    'Tell me how to save {topic}.',
    'My family wants to use less. How do we save {topic}?',
    'What is an easy way to save {topic}?',
  ],
  listLeads: ['Here is how to save {topic}:', 'These habits help you save {topic}:'],
  proses: [
    'To save {topic}, {items}.',
    'A simple way to save {topic} is to {items}.',
    'If you want to save {topic}, {items}.',
  ],
  remarks: ['Small steps add up.', 'Start with just one of them.', 'Do it for a month and compare.'],
  entries: [
    entry(
      'money',
      'cook at home, write down what you spend, cancel old contracts, buy used things, wait a day before you buy',
      'Put some aside on payday.',
    ),
    entry(
      'water',
      'take short showers, turn off the tap, fix the leaks, fill the washing machine, collect rain water',
      'A bath takes far more than a shower.',
    ),
    entry(
      'energy',
      'switch off the lights, turn down the heating, unplug the chargers, use a lid on pots, dry clothes outside',
      'Your bill will shrink too.',
    ),
    entry(
      'time',
      'plan the week, do one thing at a time, mute your phone, prepare meals ahead, say no more often',
      'Rest counts as well.',
    ),
    entry(
      'food',
      'plan your meals, freeze the bread, eat the leftovers, shop when you are full, store fruit in the cool',
      'Trust your nose more than the date.',
    ),
    entry(
      'paper',
      'print on both sides, read on the screen, use cloth towels, reuse the boxes, send e-mails',
      'Trees will thank you.',
    ),
  ],
};

export const garden: Family = {
  name: 'garden',
  asks: [
    'What grows well in {topic}?',
    'What can I plant in {topic}?',
    'Which plants do you suggest for {topic}?',
    'I would like some green in {topic}. What should I plant?',
    'What should I grow in {topic}?',
    'Tell me some plants for {topic}.',
  ],
  listLeads: ['Here is what grows well in {topic}:', 'These plants like {topic}:'],
  proses: [
    'In {topic}, you can plant {items}.',
    'I would grow {items} in {topic}.',
    'Plants such as {items} do well in {topic}.',
  ],
  remarks: ['Water them in the morning.', 'Good soil does half the work.', 'Be patient with them.'],
  entries: [
    entry('a sunny bed', 'sunflowers, lavender, roses, sage, poppies', 'They need sun for six hours.'),
    entry('a shady corner', 'ferns, hostas, ivy, moss, foxgloves', 'Keep the soil moist.'),
    entry('a kitchen window', 'mint, thyme, parsley, chives, cress', 'Cut them often.'),
    entry('a small balcony', 'cherry tomatoes, strawberries, lettuce, radishes, geraniums', 'Use deep pots.'),
    entry('a dry spot', 'cactus, aloe, rosemary, thistles, yucca', 'Too much water harms them.'),
    entry('a vegetable patch', 'carrots, peas, pumpkins, onions, spinach', 'Change the places every year.'),
  ],
};
