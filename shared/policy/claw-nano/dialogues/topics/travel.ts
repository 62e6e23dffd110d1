import { entry, type Family } from './topic.ts';

export const packing: Family = {
  name: 'packing',
  asks: [
    'What should I pack for {topic}?',
    'Help me pack for {topic}.',
    'I am getting ready for {topic}. What do I need?',
    'What do I take along for {topic}?',
    'Can you tell me what to bring for {topic}?',
    'Which things do I need for {topic}?',
    'Tomorrow I leave for {topic}. What goes into my bag?',
    'Please tell me what to pack for {topic}.',
  ],
  listLeads: ['Here is what to pack for {topic}:', 'These things belong in your bag for {topic}:'],
  proses: [
    'For {topic}, pack {items}.',
    'I would take {items} for {topic}.',
    'You will be glad to have {items} with you on {topic}.',
  ],
  remarks: ['Pack the night before.', 'Leave a little room in your bag.', 'Keep your phone and keys close.'],
  entries: [
    entry(
      'a day at the beach',
      'sunscreen, a towel, a sun hat, cold water, a good book, flip-flops',
      'Put on the sunscreen early.',
    ),
    entry(
      'a hike in the mountains',
      'strong boots, a map, a rain jacket, a water bottle, warm socks, some nuts',
      'Check the weather before you go.',
    ),
    entry(
      'a camping weekend',
      'a tent, a sleeping bag, a flashlight, matches, a small stove, bug spray',
      'Set up the tent while it is light.',
    ),
    entry(
      'a city trip',
      'good shoes, a phone charger, a city map, a light jacket, a small umbrella, some cash',
      'Good shoes matter most.',
    ),
    entry(
      'a ski holiday',
      'ski goggles, warm gloves, thick socks, a wool hat, lip balm, a thermos',
      'Wear several thin layers.',
    ),
    entry(
      'a picnic in the park',
      'a blanket, sandwiches, fruit, paper cups, lemonade, napkins',
      'Find a place in the shade.',
    ),
    entry(
      'a long train ride',
      'headphones, a magazine, snacks, a neck pillow, your ticket, a deck of cards',
      'A window seat makes it nicer.',
    ),
    entry(
      'a night at the hospital',
      'pyjamas, slippers, a toothbrush, your papers, a phone charger, a soft robe',
      'Ask a friend to visit you.',
    ),
  ],
};

export const sights: Family = {
  name: 'sights',
  asks: [
    'What can I see in {topic}?',
    'I will visit {topic} soon. What is worth a look?',
    'What are the sights of {topic}?',
    'Tell me about sights in {topic}.',
    'Where should I go in {topic}?',
    'We have one day in {topic}. What should we see?',
    'Which places do you like in {topic}?',
  ],
  listLeads: ['Here is what to see in {topic}:', 'These places are worth a visit in {topic}:'],
  proses: [
    'In {topic}, visit {items}.',
    'I would go to {items} in {topic}.',
    'Many people come to {topic} to see {items}.',
  ],
  remarks: ['Go early to avoid the crowd.', 'Take the bus to save your feet.', 'Buy tickets before you go.'],
  entries: [
    entry(
      'Paris',
      'the Eiffel Tower, the Louvre, Notre-Dame, the river Seine, Montmartre',
      'The view at night is lovely.',
    ),
    entry(
      'London',
      'Big Ben, the Tower Bridge, Hyde Park, the British Museum, the London Eye',
      'Bring an umbrella.',
    ),
    entry(
      'Rome',
      'the Colosseum, the Trevi Fountain, the Pantheon, the Vatican, the Forum',
      'Try some ice cream on the way.',
    ),
    entry(
      'Berlin',
      'the Brandenburg Gate, the Reichstag, Museum Island, the Berlin Wall, the TV Tower',
      'A bike is a good way around.',
    ),
    entry(
      'New York',
      'Central Park, the Statue of Liberty, Times Square, the Brooklyn Bridge, Broadway',
      'The subway runs all night.',
    ),
    entry(
      'Tokyo',
      'the Senso-ji temple, Shibuya crossing, the Tokyo Tower, Ueno Park, the fish market',
      'Spring brings the cherry blossoms.',
    ),
    entry(
      'Cairo',
      'the pyramids, the Sphinx, the old market, the river Nile, the Egyptian Museum',
      'Mornings are not so hot.',
    ),
  ],
};

export const weather: Family = {
  name: 'weather',
  asks: [
    'What should I wear in {topic}?',
    'What do I put on in {topic}?',
    'Which clothes are right for {topic}?',
    'I have to go out in {topic}. What do I wear?',
    'How do I dress for {topic}?',
    'Please help me dress for {topic}.',
    'What clothes do you suggest for {topic}?',
  ],
  listLeads: ['Here is what to wear in {topic}:', 'These clothes are right for {topic}:'],
  proses: [
    'In {topic}, wear {items}.',
    'I would put on {items} for {topic}.',
    'It is best to wear {items} in {topic}.',
  ],
  remarks: ['Take one more layer with you.', 'Look out of the window first.', 'Dry clothes keep you warm.'],
  entries: [
    entry(
      'heavy rain',
      'a raincoat, rubber boots, a hood, quick-dry trousers, a waterproof bag',
      'Leave your good shoes at home.',
    ),
    entry('deep snow', 'a thick coat, snow boots, mittens, a scarf, long underwear', 'Cover your ears.'),
    entry(
      'summer heat',
      'a cotton shirt, shorts, sandals, sunglasses, a straw hat',
      'Light colours stay cooler.',
    ),
    entry(
      'strong wind',
      'a windbreaker, a tight cap, long trousers, a zipped sweater, closed shoes',
      'An umbrella will not help.',
    ),
    entry(
      'thick fog',
      'a bright vest, a warm sweater, a head lamp, a light scarf, firm shoes',
      'Make sure that drivers see you.',
    ),
    entry(
      'cold spring weather',
      'a jacket, a thin sweater, jeans, ankle boots, a soft cap',
      'You can take a layer off later.',
    ),
  ],
};
