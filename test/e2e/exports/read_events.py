"""Prints the scalars of an event folder as TensorBoard reads them: {tag: [[step, wall time, value], ...]}."""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1])
events.Reload()
print(
    json.dumps(
        {
            tag: [[event.step, event.wall_time, event.value] for event in events.Scalars(tag)]
            for tag in events.Tags()["scalars"]
        }
    )
)
