import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromBullId, toBullId } from './job-id.ts';

test('every id survives the round trip, and BullMQ accepts it', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(':', '%', '3', 'A', '2', '5', '~', '/', 'é') }), (id) => {
      expect(fromBullId(toBullId(id))).toBe(id);
      expect(toBullId(id)).not.toContain(':');
      expect(toBullId(id)).not.toMatch(/^\d+$/);
    }),
  );
});
